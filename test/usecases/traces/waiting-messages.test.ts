import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { FLEET_CONFIG, fleetConfig } from '../../../actors/fleet/roster.ts';
import { addressOf } from '../../../runtime/address.ts';
import { defineActor } from '../../../runtime/define-actor.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { type ActorMailboxApi, createActorMailboxApi } from '../../../usecases/traces/waiting-messages.ts';
import { type KernelNode, startKernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';

const pot = defineActor({
  kind: 'pot',
  version: 1,
  state: z.object({ owner: z.string().optional(), fed: z.number() }),
  initial: () => ({ fed: 0 }),
  messages: {
    Own: z.object({ owner: z.string() }),
    Feed: z.object({ note: z.string().optional() }),
    Break: z.object({}),
  },
  events: {},
  on: {
    Own: (state, { owner }, turn) => {
      turn.reply(null);
      return { ...state, owner };
    },
    Feed: (state) => ({ ...state, fed: state.fed + 1 }),
    Break: () => {
      throw new Error('broken');
    },
  },
});

const viewer = (more: Partial<Identity> = {}): Identity => ({
  ...{ kind: 'operator', subject: 'olga', tenant: 'acme', roles: ['svc:operator'], tier: 'free' },
  ...more,
});

const refused = (listing: Promise<unknown>, code: string): Promise<void> =>
  assert.rejects(listing, (error: unknown) => error instanceof SvcError && error.code === code);

describe('the messages that wait for an actor, as readers get them', () => {
  let node: KernelNode;
  let mailboxes: ActorMailboxApi;
  /** While it is set, nothing reads the mailboxes. */
  let isHeld = false;
  const tell = (id: string, type: string, payload = {}) =>
    node.runtime.client.tell(addressOf('pot', 'acme', id), type, payload);
  const list = (id: string, by = viewer(), page: { limit?: number; pageToken?: string } = {}) =>
    mailboxes.list(by, 'pot', id, { limit: 100, ...page });

  before(async () => {
    node = await startKernelNode({
      definitions: [pot, fleetConfig],
      settings: { retry: { maxAttempts: 50, initialDelayMs: 60_000, maxDelayMs: 60_000 } },
      store: (inner) => ({
        poll: async (asks, limit) => (isHeld ? asks.map(() => []) : inner.poll(asks, limit)),
      }),
    });
    const unknown = async (): Promise<never> => {
      throw new SvcError('not_found');
    };
    mailboxes = createActorMailboxApi({
      client: node.runtime.client,
      registry: node.runtime.recorded.registry,
      executions: { hasEnded: unknown },
      workflows: { status: unknown },
    });
  });
  after(() => node.stop());

  test('are the one that fails, and those behind it in the order of their arrival', async () => {
    await tell('one', 'Break');
    for (let n = 0; n < 5; n++) await tell('one', 'Feed');
    const { messages } = await waitUntil('all to wait in its record', async () => {
      const found = await list('one');
      return found.messages.length === 6 && found.messages.every(({ reason }) => reason !== 'unread') && found;
    });
    const [failing, ...behind] = messages;
    assert.deepEqual(
      [failing?.type, failing?.reason, failing?.origin, failing?.from],
      ['Break', 'failing', 'client', null],
    );
    assert.deepEqual(
      behind.map(({ type, reason, at }) => [type, reason, at]),
      Array.from({ length: 5 }, () => ['Feed', 'deferred', null]),
    );
    const ids: string[] = [];
    for (let pageToken: string | undefined; ; ) {
      const page = await list('one', viewer(), { limit: 2, ...(pageToken === undefined ? {} : { pageToken }) });
      ids.push(...page.messages.map(({ message_id }) => message_id));
      pageToken = page.next_page_token;
      if (pageToken === undefined) break;
    }
    assert.deepEqual(
      ids,
      messages.map(({ message_id }) => message_id),
    );
  });

  test('are listed page by page before anything read them, also for an actor that has no state yet', async () => {
    isHeld = true;
    try {
      const large = 'x'.repeat(100_000);
      for (let n = 0; n < 5; n++) await tell('two', 'Feed', { note: n === 3 ? large : `${n}` });
      await tell('three', 'Feed');
      const all = await list('two');
      assert.deepEqual(
        all.messages.map(({ type, reason }) => [type, reason]),
        Array.from({ length: 5 }, () => ['Feed', 'unread']),
      );
      for (const { at } of all.messages) assert.ok(Math.abs(Date.parse(at ?? '') - Date.now()) < 60_000, `at ${at}`);
      assert.doesNotMatch(JSON.stringify(all), /xxx/, 'payloads are not shown');
      const first = await list('two', viewer(), { limit: 2 });
      assert.deepEqual(first.messages, all.messages.slice(0, 2));
      const second = await list('two', viewer(), { limit: 100, pageToken: first.next_page_token ?? '' });
      assert.deepEqual(second.messages, all.messages.slice(2));
      await refused(list('three', viewer(), { pageToken: first.next_page_token ?? '' }), 'invalid_argument');
      await refused(list('three', viewer(), { pageToken: 'x' }), 'invalid_argument');
    } finally {
      isHeld = false;
    }
    await node.runtime.client.ask(addressOf('pot', 'acme', 'two'), 'Own', { owner: 'ann' });
    assert.deepEqual((await list('two')).messages, []);
  });

  test('do not exist for another tenant, another user than the owner, or where there is no actor', async () => {
    await node.runtime.client.ask(addressOf('pot', 'acme', 'four'), 'Own', { owner: 'ann' });
    const user = (subject: string, more: Partial<Identity> = {}) =>
      viewer({ kind: 'tenant_user', subject, roles: [], ...more });
    assert.deepEqual((await list('four', user('ann'))).messages, []);
    await refused(list('four', user('bob')), 'not_found');
    await refused(list('four', user('ann', { tenant: 'other' })), 'not_found');
    await refused(list('four', viewer({ tenant: 'other' })), 'not_found');
    await refused(list('four', user('ann', { kind: 'consumer' })), 'not_found');
    await refused(list('nothing'), 'not_found');
    await refused(mailboxes.list(viewer(), 'unknown', 'four', { limit: 10 }), 'not_found');
  });

  test('of the fleet are shown to those alone who may see nodes', async () => {
    await node.runtime.client.ask(FLEET_CONFIG, 'SetConfig', { config_yaml: '' });
    const tenant = SYSTEM_TENANT;
    const fleet = (by: Identity) => mailboxes.list(by, 'fleet-config', 'fleet', { limit: 10 });
    assert.deepEqual((await fleet(viewer({ tenant, roles: ['svc:readonly'] }))).messages, []);
    await refused(fleet(viewer({ tenant, kind: 'service_account', roles: ['svc:admin'] })), 'not_found');
  });
});
