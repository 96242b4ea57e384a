import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { FLEET_CONFIG, fleetConfig } from '../../../actors/fleet/roster.ts';
import { addressOf } from '../../../runtime/address.ts';
import { defineActor } from '../../../runtime/define-actor.ts';
import { EffectResult } from '../../../runtime/effect.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { type ActorReads, createActorReads } from '../../../usecases/traces/actors.ts';
import { type KernelNode, startKernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { endless, user } from './fixture.ts';

const SECRET = 'canary-5b1c';

const pot = defineActor({
  kind: 'pot',
  version: 1,
  state: z.object({
    owner: z.string().optional(),
    api_token: z.string(),
    nested: z.object({ password: z.string(), note: z.string() }),
    fed: z.number(),
  }),
  initial: () => ({ api_token: SECRET, nested: { password: SECRET, note: `Bearer ${SECRET}` }, fed: 0 }),
  messages: {
    Own: z.object({ owner: z.string() }),
    Wait: z.object({}),
    Ring: z.object({}),
    Done: EffectResult,
    Break: z.object({}),
  },
  events: {},
  on: {
    Own: (state, { owner }, turn) => {
      turn.reply(null);
      return { ...state, owner };
    },
    Wait(state, _none, turn) {
      turn.after('alarm', 3_600_000, 'Ring', {});
      turn.effect({ kind: 'endless', mode: 'repeatable', input: {}, replyAs: 'Done' });
      turn.reply(null);
      return { ...state, fed: state.fed + 1 };
    },
    Ring: (state) => state,
    Done: (state) => state,
    Break: () => {
      throw new Error(`broken, with https://user:${SECRET}@host/`);
    },
  },
});

const missing = (reading: Promise<unknown>): Promise<void> =>
  assert.rejects(reading, (error: unknown) => error instanceof SvcError && error.code === 'not_found');

describe('an actor as readers get it', () => {
  let node: KernelNode;
  let actors: ActorReads;
  const tell = (id: string, type: string, payload = {}) =>
    node.runtime.client.tell(addressOf('pot', 'acme', id), type, payload);
  const ask = (id: string, type: string, payload = {}) =>
    node.runtime.client.ask(addressOf('pot', 'acme', id), type, payload);

  before(async () => {
    node = await startKernelNode({
      definitions: [pot, fleetConfig],
      handlers: [endless],
      settings: { retry: { maxAttempts: 50, initialDelayMs: 60_000, maxDelayMs: 60_000 } },
    });
    const { client, recorded } = node.runtime;
    const unknown = async (): Promise<never> => {
      throw new SvcError('not_found');
    };
    actors = createActorReads({
      client,
      registry: recorded.registry,
      executions: { hasEnded: unknown },
      workflows: { status: unknown },
      store: node.store,
      payloads: recorded.payloads,
      nodeOf: async () => 'node-a',
    });
  });
  after(() => node.stop());

  test('has its timers with their times, its open effects with what asked for them, and who serves it', async () => {
    await ask('one', 'Wait');
    const shown = await waitUntil('the effect to be started', async () => {
      const found = await actors.get(user('ann'), 'pot', 'one');
      return found.effects[0]?.status === 'started' && found;
    });
    assert.equal(shown.address, 'pot/acme/one');
    assert.deepEqual([shown.revision, shown.archived, shown.node, shown.stuck], [1, false, 'node-a', null]);
    assert.deepEqual(shown.mailbox, { depth: 0, oldest_at: null });
    const [timer] = shown.timers;
    assert.equal(timer?.name, 'alarm');
    const dueInMs = Date.parse(timer?.due_at ?? '') - Date.now();
    assert.ok(dueInMs > 3_500_000 && dueInMs <= 3_600_000, `due in ${dueInMs} ms`);
    const [effect] = shown.effects;
    assert.deepEqual([effect?.kind, effect?.attempt, effect?.node, effect?.retry_at], ['endless', 1, 'node-a', null]);
    assert.match(effect?.message_id ?? '', /^[0-9a-f-]{36}$/);
  });

  test('hides what looks like a secret, and shows the rest of its state', async () => {
    await ask('two', 'Wait');
    const shown = await actors.get(user('ann'), 'pot', 'two');
    assert.deepEqual(shown.state, {
      api_token: '[redacted]',
      nested: { password: '[redacted]', note: '[redacted]' },
      fed: 1,
    });
    assert.doesNotMatch(JSON.stringify(shown), new RegExp(SECRET));
  });

  test('says which message keeps failing, and how many wait behind it', async () => {
    await ask('three', 'Wait');
    await tell('three', 'Break');
    await waitUntil('the message to fail', async () => (await actors.get(user('ann'), 'pot', 'three')).stuck);
    await tell('three', 'Ring');
    const shown = await waitUntil('a message to wait behind it', async () => {
      const found = await actors.get(user('ann'), 'pot', 'three');
      return found.mailbox.depth > 0 && found;
    });
    assert.deepEqual(shown.stuck, {
      message_type: 'Break',
      error: 'broken, with https://[redacted]@host/',
      attempts: 1,
    });
  });

  test('does not exist for another tenant, for another user than its owner, and for consumers by address', async () => {
    await ask('four', 'Own', { owner: 'ann' });
    assert.equal((await actors.get(user('ann'), 'pot', 'four')).id, 'four');
    const operator = user('olga', { kind: 'operator', roles: ['svc:operator'] });
    assert.equal((await actors.get(operator, 'pot', 'four')).id, 'four');
    await missing(actors.get(user('bob'), 'pot', 'four'));
    await missing(actors.get(user('ann', { tenant: 'other' }), 'pot', 'four'));
    await missing(actors.get(user('ann', { kind: 'consumer' }), 'pot', 'four'));
    await missing(actors.get(operator, 'pot', 'unknown'));
    await missing(actors.get(operator, 'unknown', 'four'));
  });

  test('of the fleet is shown to those who may see nodes, also when its tenant is theirs', async () => {
    await node.runtime.client.ask(FLEET_CONFIG, 'SetConfig', { config_yaml: '' });
    const tenant = SYSTEM_TENANT;
    const operator = user('olga', { tenant, kind: 'operator', roles: ['svc:readonly'] });
    for (const viewer of [operator, user('local', { tenant, kind: 'local' })])
      assert.equal((await actors.get(viewer, 'fleet-config', 'fleet')).kind, 'fleet-config');
    const account = user('ci', { tenant, kind: 'service_account', roles: ['svc:admin'] });
    await missing(actors.get(account, 'fleet-config', 'fleet'));
  });
});
