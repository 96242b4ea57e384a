import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { z } from 'zod';
import { addressOf } from '../../../runtime/address.ts';
import { defineActor } from '../../../runtime/define-actor.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { DEAD_LETTERS, type DeadLetter, unreadableRecord } from '../../../runtime/ledger/segments.ts';
import { createDeadLetterApi, type DeadLetterApi, MOST_REPLAYS } from '../../../usecases/traces/dead-letters.ts';
import { type KernelNode, startKernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SECRET = 'canary-77aa';

/** Takes what it is given once it was mended. */
const picky = defineActor({
  kind: 'picky',
  version: 1,
  state: z.object({ owner: z.string().optional(), mended: z.boolean(), eaten: z.array(z.string()) }),
  initial: () => ({ mended: false, eaten: [] }),
  messages: {
    Mend: z.object({ owner: z.string().optional() }),
    Eat: z.object({ what: z.string(), password: z.string().optional() }),
  },
  events: {},
  on: {
    Mend: (state, { owner }, turn) => {
      turn.reply(null);
      return { ...state, owner, mended: true };
    },
    Eat(state, { what }) {
      if (!state.mended) throw new Error(`cannot eat ${what} of https://cook:${SECRET}@kitchen/`);
      return { ...state, eaten: [...state.eaten, what] };
    },
  },
});

const user = (subject: string, more: Partial<Identity> = {}): Identity => ({
  kind: 'service_account',
  subject,
  tenant: 'acme',
  roles: [],
  tier: 'free',
  ...more,
});

const fails = (code: string, doing: Promise<unknown>): Promise<void> =>
  assert.rejects(doing, (error: unknown) => error instanceof SvcError && error.code === code);

describe('dead letters', () => {
  let node: KernelNode;
  let letters: DeadLetterApi;
  const address = (id: string) => addressOf('picky', 'acme', id);
  const eat = (id: string, what: string) =>
    node.runtime.client.tell(address(id), 'Eat', { what, password: SECRET }, { trace: 'a'.repeat(32) });
  const mend = (id: string, owner?: string) =>
    node.runtime.client.ask(address(id), 'Mend', owner === undefined ? {} : { owner });
  const listed = async (viewer = user('ann')) => (await letters.list(viewer, { limit: 200 })).items;
  const letterOf = (id: string) =>
    waitUntil(`a letter of ${id}`, async () => (await listed()).find((one) => one.address === address(id)));
  const eaten = async (id: string) =>
    z.object({ eaten: z.array(z.string()) }).parse((await node.runtime.client.read(address(id)))?.state).eaten;

  const unknown = async (): Promise<never> => {
    throw new SvcError('not_found');
  };
  type Letters = Parameters<typeof createDeadLetterApi>[0]['letters'];
  const apiWith = async (
    client: Parameters<typeof createDeadLetterApi>[0]['client'],
    over = (letters: Letters): Letters => letters,
  ): Promise<DeadLetterApi> =>
    createDeadLetterApi({
      client,
      registry: node.runtime.recorded.registry,
      executions: { hasEnded: unknown },
      workflows: { status: unknown },
      letters: over(await node.documents.collection<DeadLetter>(DEAD_LETTERS)),
      payloads: node.runtime.recorded.payloads,
      clock: { now: () => Date.parse('2026-02-01T00:00:00Z') },
    });

  before(async () => {
    node = await startKernelNode({
      definitions: [picky],
      settings: { retry: { maxAttempts: 2, initialDelayMs: 5, maxDelayMs: 5 } },
    });
    letters = await apiWith(node.runtime.client);
  });
  after(() => node.stop());

  test('a message that its actor could not handle is listed, and shown without secrets', async () => {
    await eat('one', 'soup');
    await mend('one');
    const letter = await letterOf('one');
    assert.deepEqual([letter.kind, letter.status, letter.replays, letter.discarded], ['message', 'open', [], null]);
    assert.equal(letter.message?.type, 'Eat');
    assert.equal(letter.message?.trace_id, 'a'.repeat(32));
    const shown = await letters.get(user('ann'), letter.id);
    assert.deepEqual(shown.payload, { what: 'soup', password: '[redacted]' });
    assert.equal(shown.error, 'cannot eat soup of https://[redacted]@kitchen/');
    assert.doesNotMatch(JSON.stringify([letter, shown]), new RegExp(SECRET));
  });

  test('a replay sends a dead letter to its actor again, once, and records the caller and the reason', async () => {
    await eat('two', 'bread');
    await mend('two');
    const { id, message } = await letterOf('two');
    const replayed = await letters.replay(user('ann'), id, 'the actor was mended');
    await waitUntil('it to be eaten', async () => (await eaten('two')).length > 0);
    assert.deepEqual(await eaten('two'), ['bread']);
    assert.equal(replayed.status, 'replayed');
    const [replay] = replayed.replays;
    assert.deepEqual(
      [replay?.by, replay?.reason, replay?.at],
      ['ann', 'the actor was mended', '2026-02-01T00:00:00.000Z'],
    );
    assert.notEqual(replay?.message_id, message?.message_id);
    assert.deepEqual((await letters.get(user('ann'), id)).replays, replayed.replays);
    const open = await letters.list(user('ann'), { limit: 200, status: 'open' });
    assert.ok(!open.items.some((one) => one.id === id));
  });

  test('two replays at the same time send one message', async () => {
    await eat('three', 'rice');
    await mend('three');
    const { id } = await letterOf('three');
    const both = await Promise.allSettled([
      letters.replay(user('ann'), id, null),
      letters.replay(user('bob'), id, null),
    ]);
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    await mend('three');
    assert.deepEqual(await eaten('three'), ['rice']);
  });

  test(`a letter is replayed at most ${MOST_REPLAYS} times`, async () => {
    await eat('four', 'tea');
    await mend('four');
    const { id } = await letterOf('four');
    for (let count = 0; count < MOST_REPLAYS; count += 1) await letters.replay(user('ann'), id, null);
    await fails('limit_reached', letters.replay(user('ann'), id, null));
    await mend('four');
    assert.equal((await eaten('four')).length, MOST_REPLAYS);
  });

  test('a discarded letter stays as a record and is not replayed', async () => {
    await eat('five', 'sand');
    await mend('five');
    const { id } = await letterOf('five');
    const discarded = await letters.discard(user('ann'), id, 'not food');
    assert.equal(discarded.status, 'discarded');
    assert.deepEqual(discarded.discarded, { at: '2026-02-01T00:00:00.000Z', by: 'ann', reason: 'not food' });
    await fails('failed_precondition', letters.replay(user('ann'), id, null));
    await fails('failed_precondition', letters.discard(user('ann'), id, 'again'));
    const found = await letters.list(user('ann'), { limit: 200, status: 'discarded' });
    assert.deepEqual(
      found.items.map((one) => one.id),
      [id],
    );
  });

  test('letters of another tenant, and of what another user owns, do not exist', async () => {
    await eat('six', 'cake');
    await mend('six', 'ann');
    const { id } = await letterOf('six');
    for (const viewer of [user('bob'), user('ann', { tenant: 'other' })]) {
      assert.ok(!(await listed(viewer)).some((one) => one.id === id));
      await fails('not_found', letters.get(viewer, id));
      await fails('not_found', letters.replay(viewer, id, null));
      await fails('not_found', letters.discard(viewer, id, 'x'));
    }
    assert.ok((await listed(user('ann'))).some((one) => one.id === id));
  });

  test('the pages of the list hold each letter once, and the kind filters', async () => {
    const ids: string[] = [];
    for (let pageToken: string | undefined; ; ) {
      const page = await letters.list(user('ann'), { limit: 2, pageToken });
      ids.push(...page.items.map((one) => one.id));
      pageToken = page.next_page_token;
      if (pageToken === undefined) break;
    }
    assert.deepEqual(ids.toSorted(), (await listed()).map((one) => one.id).toSorted());
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.length >= 6);
    assert.equal((await letters.list(user('ann'), { limit: 200, kind: 'picky' })).items.length, ids.length);
    assert.deepEqual((await letters.list(user('ann'), { limit: 200, kind: 'pick' })).items, []);
  });

  test('a replay that was sent is recorded whatever else changes the letter at the same time', async () => {
    await eat('nine', 'eel');
    await mend('nine');
    const { id } = await letterOf('nine');
    const { client } = node.runtime;
    let lost = 0;
    const losing = (letters: Letters): Letters =>
      new Proxy(letters, {
        get(inner, name) {
          const member: unknown = Reflect.get(inner, name);
          if (typeof member !== 'function') return member;
          return async (...call: unknown[]): Promise<unknown> => {
            if (name === 'replace') lost += 1;
            return name === 'replace' && lost <= 3 ? false : member.apply(inner, call);
          };
        },
      });
    const over = await apiWith(client, losing);
    const { replays } = await over.replay(user('ann'), id, 'mended');
    assert.deepEqual([replays.length, lost], [1, 4]);
  });

  test('a replay is recorded also when the letter is discarded while its message is sent', async () => {
    await eat('eight', 'egg');
    await mend('eight');
    const { id } = await letterOf('eight');
    const { client } = node.runtime;
    const over = await apiWith({
      read: (at) => client.read(at),
      async repeat(message, as) {
        await client.repeat(message, as);
        await letters.discard(user('bob'), id, 'not food');
      },
    });
    const sent = await over.replay(user('ann'), id, 'mended');
    const shown = await letters.get(user('ann'), id);
    assert.deepEqual(shown, sent);
    assert.deepEqual(
      [shown.status, shown.discarded?.by, shown.replays.map(({ by }) => by)],
      ['discarded', 'bob', ['ann']],
    );
  });

  test('an actor whose state cannot be read hides no letter of others; operators alone see its own', async () => {
    await eat('seven', 'ice');
    await mend('seven');
    const { id } = await letterOf('seven');
    const broken = addressOf('picky', 'acme', 'broken');
    const documents = await node.documents.collection<DeadLetter>(DEAD_LETTERS);
    await documents.put(unreadableRecord(broken, '@gone', 'the payload is gone', Date.now()));
    const { client } = node.runtime;
    const over = await apiWith({
      read: (at) => (at === broken ? Promise.reject(new TypeError('no such blob')) : client.read(at)),
      repeat: (message, as) => client.repeat(message, as),
    });
    const ids = async (viewer: Identity) => (await over.list(viewer, { limit: 200 })).items.map((one) => one.id);
    assert.ok((await ids(user('ann'))).includes(id));
    assert.ok(!(await ids(user('ann'))).includes('picky.acme.broken.record'));
    const operator = user('olga', { kind: 'operator', roles: ['svc:operator'] });
    assert.ok((await ids(operator)).includes('picky.acme.broken.record'));
    assert.equal((await over.get(operator, 'picky.acme.broken.record')).kind, 'record');
  });
});
