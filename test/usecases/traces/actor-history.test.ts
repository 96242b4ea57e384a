import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import type { ActorDefinition, Registry } from '../../../runtime/define-actor.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { type ActorHistoryApi, createActorHistoryApi, stateChanges } from '../../../usecases/traces/actor-history.ts';
import type { TraceParts } from '../../../usecases/traces/trace.ts';
import type { KernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { isMissing, link, linkOf, openLinks, SECRET, user } from './fixture.ts';

const ann = user('ann');

describe('the past of an actor', () => {
  let node: KernelNode;
  let parts: TraceParts;
  let api: ActorHistoryApi;
  const apiOver = (registry: Pick<Registry, 'definitionOf'>, changes: Partial<TraceParts> = {}): ActorHistoryApi => {
    const { client, recorded } = node.runtime;
    const { executions, workflows, payloads, ledger } = { ...parts, ...changes };
    return createActorHistoryApi({
      client,
      registry: registry as Registry,
      executions,
      workflows,
      payloads,
      retry: recorded.retry,
      ledger,
    });
  };
  before(async () => {
    ({ node, parts } = await openLinks());
    api = apiOver(node.runtime.recorded.registry);
  });
  after(() => node.stop());

  const tell = (id: string, type: string, payload: Json) =>
    node.runtime.client.tell(linkOf(id), type, payload, { identity: ann });
  const history = (id: string, count: number) =>
    waitUntil(`${count} deliveries to ${id}`, async () => {
      const { deliveries } = await api.history(ann, 'link', id, { limit: 1_000, newestFirst: false });
      return deliveries.length >= count && deliveries;
    });

  test('is listed in both orders, and its pages hold each delivery once', async () => {
    for (const along of [1, 2, 3, 4, 5]) await tell('a', 'Pass', { along: [], note: `${along}` });
    const all = (await history('a', 5)).map(({ message_id }) => message_id);
    const newest = await api.history(ann, 'link', 'a', { limit: 1_000, newestFirst: true });
    assert.deepEqual(
      newest.deliveries.map(({ message_id }) => message_id),
      all.toReversed(),
    );
    const paged: string[] = [];
    for (let next: string | null | undefined; next !== null; ) {
      const page = await api.history(ann, 'link', 'a', { limit: 2, next: next ?? undefined, newestFirst: false });
      paged.push(...page.deliveries.map(({ message_id }) => message_id));
      next = page.next;
    }
    assert.deepEqual(paged, all);
  });

  test('has its state after each message, equal to what was recorded, without secrets', async () => {
    await tell('b', 'Pass', { along: [] });
    await tell('b', 'Work', { value: 'x' });
    await tell('b', 'Fail', { times: 99 });
    const deliveries = await waitUntil('the failing message to be given up', async () => {
      const found = await history('b', 3);
      return (
        found.some(({ outcome }) => outcome === 'dead-lettered') && found.some((one) => one.type === 'Worked') && found
      );
    });
    const heard = async (type: string) => {
      const id = deliveries.find((one) => one.type === type)?.message_id ?? assert.fail(type);
      const { state, differs, message_id } = await api.stateAt(ann, 'link', 'b', id);
      assert.deepEqual([differs, message_id], [null, id]);
      return state;
    };
    assert.deepEqual(await heard('Pass'), { password: '[redacted]', heard: ['pass'] });
    assert.deepEqual(await heard('Work'), { password: '[redacted]', heard: ['pass', 'work'] });
    assert.deepEqual(await heard('Worked'), { password: '[redacted]', heard: ['pass', 'work', 'worked done'] });
    assert.doesNotMatch(JSON.stringify(await heard('Fail')), new RegExp(SECRET));
  });

  test('says what a message changed, and the difference between two messages', async () => {
    for (const note of ['1', '2', '3']) await tell('c', 'Pass', { along: [], note });
    const [first, , third] = (await history('c', 3)).map(({ message_id }) => message_id);
    assert.ok(first && third);
    const one = await api.diff(ann, 'link', 'c', { to: third });
    assert.deepEqual(one.changes, [{ path: '/heard/2', kind: 'added', before: null, after: 'pass' }]);
    assert.deepEqual([one.from, one.differs, one.cut], [null, null, false]);
    const both = await api.diff(ann, 'link', 'c', { from: first, to: third });
    assert.deepEqual(
      both.changes.map(({ path, kind }) => [path, kind]),
      [
        ['/heard/1', 'added'],
        ['/heard/2', 'added'],
      ],
    );
    const back = await api.diff(ann, 'link', 'c', { from: third, to: first });
    assert.deepEqual(
      back.changes.map(({ path, kind }) => [path, kind]),
      [
        ['/heard/1', 'removed'],
        ['/heard/2', 'removed'],
      ],
    );
  });

  test('says at which message today’s code differs from what was recorded', async () => {
    for (const note of ['1', '2', '3']) await tell('d', 'Pass', { along: [], note });
    const ids = (await history('d', 3)).map(({ message_id }) => message_id);
    const pass = link.on.Pass;
    const changed: ActorDefinition = {
      ...(link as ActorDefinition),
      on: {
        ...link.on,
        Pass: (state: { heard: string[] }, payload: { note?: string }, turn: never) => {
          const next = pass(state as never, payload as never, turn);
          return payload.note === '2' ? { ...next, heard: [...next.heard, 'more'] } : next;
        },
      } as never,
    };
    const today = apiOver({ definitionOf: () => changed });
    assert.equal((await today.stateAt(ann, 'link', 'd', ids[0] ?? '')).differs, null);
    for (const id of ids.slice(1)) {
      const { differs } = await today.stateAt(ann, 'link', 'd', id);
      assert.deepEqual(differs, { message_id: ids[1], parts: ['state'] });
    }
  });

  test('is refused where its beginning was removed, saying from when on deliveries are kept', async () => {
    for (const note of ['1', '2']) await tell('e', 'Pass', { along: [], note });
    const [, second = ''] = (await history('e', 2)).map(({ message_id }) => message_id);
    const { ledger } = parts;
    assert.ok(ledger);
    const cut = apiOver(node.runtime.recorded.registry, {
      ledger: {
        message: (...asked) => ledger.message(...asked),
        causedBy: (...asked) => ledger.causedBy(...asked),
        effect: (...asked) => ledger.effect(...asked),
        trace: (...asked) => ledger.trace(...asked),
        recent: (...asked) => ledger.recent(...asked),
        keptFrom: async () => Date.parse('2026-01-02T03:04:05Z'),
        async actor(...asked) {
          const page = await ledger.actor(...asked);
          return { ...page, deliveries: page.deliveries.slice(1) };
        },
      },
    });
    await assert.rejects(cut.stateAt(ann, 'link', 'e', second), (error: unknown) => {
      return error instanceof SvcError && /kept from 2026-01-02T03:04:05.000Z on/.test(error.message);
    });
    const { kept_from } = await cut.history(ann, 'link', 'e', { limit: 10, newestFirst: false });
    assert.equal(kept_from, '2026-01-02T03:04:05.000Z');
  });

  test('is replayed without keeping other work from the thread', async () => {
    for (let count = 0; count < 200; count += 1) await tell('long', 'Pass', { along: [] });
    const last = (await history('long', 200)).at(-1)?.message_id ?? '';
    // Once, so that the segments are in memory: the replay waits for nothing then.
    await api.stateAt(ann, 'link', 'long', last);
    let isOver = false;
    let others = 0;
    const other = (): void => {
      others += 1;
      if (!isOver) setImmediate(other);
    };
    setImmediate(other);
    await api.stateAt(ann, 'link', 'long', last);
    isOver = true;
    assert.ok(others >= 50, `other work ran ${others} times`);
  });

  test('of another tenant or another user’s run, or of an unknown message, is not found', async () => {
    await node.runtime.client.ask(linkOf('f'), 'Own', { owner: 'ann' }, { identity: ann });
    const [own] = await history('f', 1);
    const id = own?.message_id ?? '';
    for (const viewer of [user('bob'), user('ann', { tenant: 'other' })]) {
      await assert.rejects(api.history(viewer, 'link', 'f', { limit: 10, newestFirst: false }), isMissing);
      await assert.rejects(api.stateAt(viewer, 'link', 'f', id), isMissing);
      await assert.rejects(api.diff(viewer, 'link', 'f', { to: id }), isMissing);
    }
    await assert.rejects(api.stateAt(ann, 'link', 'f', 'unknown'), isMissing);
    await assert.rejects(api.diff(ann, 'link', 'f', { from: 'unknown', to: id }), isMissing);
  });
});

describe('changes of a state', () => {
  const states = fc.jsonValue({ maxDepth: 3 }).map((value): Json => JSON.parse(JSON.stringify(value)));

  test('are none for equal states, and found for different ones', () => {
    fc.assert(
      fc.property(states, states, (before, after) => {
        const same = JSON.stringify(before) === JSON.stringify(after);
        const { changes } = stateChanges(before, after);
        if (same) assert.deepEqual(changes, []);
        assert.deepEqual(stateChanges(before, JSON.parse(JSON.stringify(before))).changes, []);
      }),
    );
  });

  test('turn the one state into the other', () => {
    fc.assert(
      fc.property(states, states, (before, after) => {
        const { changes, cut } = stateChanges(before, after);
        fc.pre(!cut);
        const applied = changes.toReversed().reduce((state, change) => applyChange(state, change), before);
        assert.deepEqual(applied, after);
      }),
    );
  });
});

/** Applies one change to a copy of the state. Removals of a list come from its end. */
function applyChange(state: Json, { path, kind, after }: { path: string; kind: string; after: Json }): Json {
  if (path === '') return after;
  const copy: Json = JSON.parse(JSON.stringify(state));
  const names = path
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = names.pop() ?? '';
  let place = copy as Record<string, Json>;
  for (const name of names) place = place[name] as Record<string, Json>;
  // An assignment to `__proto__` would set the prototype.
  const property = { value: after, writable: true, enumerable: true, configurable: true };
  if (kind !== 'removed') Object.defineProperty(place, last, property);
  else if (Array.isArray(place)) place.splice(Number(last), 1);
  else delete place[last];
  return copy;
}
