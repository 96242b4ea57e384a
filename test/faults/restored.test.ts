import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { defineEffect, EffectResult } from '../../runtime/effect.ts';
import { openKernels } from '../support/kernels.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';

const skip = serversMissing();

const run = defineActor({
  kind: 'run',
  version: 1,
  state: z.object({ status: z.enum(['new', 'running', 'ended']) }),
  initial: () => ({ status: 'new' as const }),
  messages: { Begin: z.object({}), Ended: EffectResult },
  events: {},
  done: ({ status }) => status === 'ended',
  on: {
    Begin(state, _message, turn) {
      turn.reply(null);
      if (state.status !== 'new') return state;
      turn.effect({ kind: 'work', mode: 'repeatable', input: { run: turn.self }, replyAs: 'Ended' });
      return { status: 'running' };
    },
    Ended: () => ({ status: 'ended' as const }),
  },
});

/** The server writes no append-only file, so a restart returns it to its last save, like a restore from a backup. */
const FROM_BACKUP = { args: ['--appendonly', 'no'] };

test('a Redis restored from a backup: runs that are ended in the archive do not run again, all others continue', {
  skip,
  timeout: 300_000,
}, async () => {
  await using kernels = await openKernels(FROM_BACKUP);
  const ran: string[] = [];
  const release = { early: Promise.withResolvers<null>(), late: Promise.withResolvers<null>() };
  const work = defineEffect({
    kind: 'work',
    input: z.object({ run: z.string() }),
    async run(input) {
      ran.push(input.run);
      await (input.run.includes('early') ? release.early : release.late).promise;
      return null;
    },
  });
  const [one, two] = [
    await kernels.start('one', { definitions: [run], handlers: [work] }),
    await kernels.start('two', { definitions: [run], handlers: [work], effectConcurrency: 2 }),
  ];
  const early = Array.from({ length: 12 }, (_, n) => addressOf('run', 'acme', `early-${n}`));
  const late = Array.from({ length: 4 }, (_, n) => addressOf('run', 'acme', `late-${n}`));
  const runs = [...early, ...late];
  await Promise.all(runs.map((address) => one.runtime.client.ask(address, 'Begin', {})));
  await waitUntil('the work has begun', () => ran.length >= 8);
  const admin = new Redis(kernels.redis.url);
  await admin.save();
  admin.disconnect();
  release.early.resolve(null);
  const statuses = async (addresses: readonly (typeof runs)[number][]) =>
    (await Promise.all(addresses.map((address) => two.runtime.client.read(address)))).map((seen) => ({
      archived: seen?.archived,
      state: seen?.state,
    }));
  const ended = { archived: true, state: { status: 'ended' } };
  const allEnded = async (addresses: readonly (typeof runs)[number][]) =>
    (await statuses(addresses).catch(() => [])).filter((one) => one.archived === true).length === addresses.length;
  await waitUntil('the early runs are archived', () => allEnded(early));
  const before = ran.length;
  await kernels.redis.restart();
  release.late.resolve(null);
  await waitUntil('all runs are archived', () => allEnded(runs), 60_000);
  assert.deepEqual(
    await statuses(runs),
    runs.map(() => ended),
  );
  const again = ran.slice(before).filter((address) => address.includes('early'));
  assert.deepEqual(again, [], 'runs that had ended ran again');
  const warned = [...one.warnings, ...two.warnings].filter((warning) => warning.includes('had ended'));
  assert.ok(warned.length > 0, 'the log reports it');
});
