import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { addressOf, defineActor, message, startRuntime } from '../../runtime/index.ts';
import { waitUntil } from '../support/wait-until.ts';

const Count = z.object({ n: z.number() });
const counter = defineActor({
  kind: 'counter',
  version: 1,
  state: Count,
  initial: () => ({ n: 0 }),
  messages: { Add: message(z.object({ by: z.number() }), z.number()) },
  events: { added: z.object({}) },
  on: {
    Add(state, { by }, turn) {
      if (by > 9) throw new Error(`${by} is more than the counter takes`);
      turn.reply(state.n + by);
      return { n: state.n + by };
    },
  },
});

/** Wrong definitions that JavaScript allows, each with the expected error. */
const WRONG: readonly (readonly [what: object, said: RegExp])[] = [
  [{ kind: '' }, /^Error: a definition of an actor: kind: expected a text that matches/],
  [{ kind: 'a/b' }, /actor kind a\/b: kind: expected a text that matches/],
  [{ kind: 7 }, /kind: expected a text/],
  [{ version: Number.NaN }, /actor kind counter: version: expected an integer from 1/],
  [{ version: '1' }, /version: expected an integer from 1/],
  [{ version: 0 }, /version: expected an integer from 1/],
  [{ state: undefined }, /state: expected a schema of zod/],
  [{ initial: undefined }, /initial: expected a function/],
  [{ initial: async () => ({ n: 0 }) }, /initial: expected a function that is not async/],
  [{ messages: undefined }, /messages: expected schemas by name/],
  [{ messages: { Add: 'text' } }, /messages\.Add: expected a schema of zod/],
  [{ events: undefined }, /events: expected schemas by name/],
  [{ on: { Add: 'text' } }, /on\.Add: expected a function/],
  [{ on: { Add: async () => ({ n: 1 }) } }, /on\.Add: expected a function that is not async/],
  [{ on: {} }, /"on" has no handler for message Add/],
  [{ finalEvents: ['removed'] }, /"finalEvents" names an unknown event removed/],
  [{ creates: ['Start'] }, /"creates" names an unknown message Start/],
  [{ pool: 'mine' }, /pool: expected default or system/],
  [{ done: true }, /done: expected a function/],
  [{ view: { collection: 'counters' } }, /view\.project: expected a function/],
  [{ version: 0, done: true }, /version: .*; done: /],
];

test('a wrong definition is refused before anything is served, and each wrong field is named', async () => {
  for (const [what, said] of WRONG) {
    const wrong = Object.assign({ ...counter }, what);
    assert.throws(() => defineActor(wrong), said);
    // An author need not call `defineActor`.
    const directory = await mkdtemp(join(tmpdir(), 'svc-definitions-'));
    await assert.rejects(startRuntime({ dataDir: directory, actors: [wrong] }), said);
    await rm(directory, { recursive: true });
  }
  assert.throws(() => defineActor(JSON.parse('null')), /^Error: a definition of an actor: expected an object/);
});

test('an author is warned of each turn whose handler threw, with its error', async (run) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-definitions-'));
  const warned: string[] = [];
  const runtime = await startRuntime({
    dataDir: directory,
    actors: [counter],
    settings: { partitions: 1, systemPartitions: 1, retry: { maxAttempts: 2, initialDelayMs: 10, maxDelayMs: 10 } },
    warn: (text, error) => warned.push(`${text}: ${String(error)}`),
  });
  run.after(async () => {
    await runtime.stop();
    await rm(directory, { recursive: true });
  });
  const address = addressOf('counter', 'acme', 'one');
  assert.equal(await runtime.client.ask(address, 'Add', { by: 1 }), 1);
  await assert.rejects(runtime.client.ask(address, 'Add', { by: 10 }), { code: 'dead_lettered' });
  await waitUntil('both attempts', () => warned.length >= 2);
  assert.deepEqual(warned, [
    'counter/acme/one: a turn failed and is retried: Error: 10 is more than the counter takes',
    'counter/acme/one: a turn failed, its message is a dead letter: Error: 10 is more than the counter takes',
  ]);
});
