import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createMessageApi, type MessageApi } from '../../../usecases/traces/messages.ts';
import type { TraceParts } from '../../../usecases/traces/trace.ts';
import { createTraceApi, type TraceApi } from '../../../usecases/traces/traces.ts';
import type { KernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { isMissing, linkOf, newTrace, openLinks, SECRET, user } from './fixture.ts';

const ann = user('ann');

function unlessMissing(thrown: unknown): null {
  if (!isMissing(thrown)) throw thrown;
  return null;
}

describe('a message', () => {
  let node: KernelNode;
  let parts: TraceParts;
  let messages: MessageApi;
  let traces: TraceApi;
  before(async () => {
    ({ node, parts } = await openLinks());
    messages = createMessageApi(parts);
    traces = createTraceApi(parts);
  });
  after(() => node.stop());

  /** Sends a message and returns the ids of its trace once it has that many deliveries. */
  async function sent(id: string, type: string, payload: object, count: number): Promise<string[]> {
    const trace = newTrace();
    const plain = JSON.parse(JSON.stringify(payload));
    await node.runtime.client.tell(linkOf(id), type, plain, { trace, identity: ann });
    return waitUntil(`${count} deliveries`, async () => {
      const found = await traces.page(ann, trace, { limit: 1_000 }).catch((error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      });
      return found !== null && found.deliveries.length >= count && found.deliveries.map((one) => one.message_id);
    });
  }

  test('is shown with its envelope, who called, and its payload without secrets', async () => {
    const [root = ''] = await sent('a', 'Pass', { along: [], note: 'plain', api_key: SECRET }, 1);
    const shown = await messages.get(ann, root);
    assert.deepEqual(
      [shown.to, shown.from, shown.type, shown.origin, shown.cause_id, shown.effect_id, shown.outcome],
      ['link/acme/a', null, 'Pass', 'client', null, null, 'done'],
    );
    assert.deepEqual(shown.caller, { kind: 'tenant_user', subject: 'ann' });
    assert.deepEqual(shown.payload, { along: [], note: 'plain', api_key: '[redacted]' });
    const [attempt, ...more] = shown.attempts;
    assert.deepEqual([attempt?.attempt, attempt?.node, attempt?.outcome, attempt?.error], [1, 'node-a', 'done', null]);
    assert.deepEqual(more, []);
  });

  test('that failed is shown with each attempt and its error', async () => {
    const trace = newTrace();
    await node.runtime.client.tell(linkOf('b'), 'Fail', { times: 99 }, { trace, identity: ann });
    const shown = await waitUntil('the last attempt', async () => {
      const { traces: rows } = await traces.list(ann, { limit: 200 });
      const root = rows.find((row) => row.trace_id === trace)?.root;
      // Lists have a delivery some milliseconds before its keys are written.
      const found = root === undefined ? null : await messages.get(ann, root).catch(unlessMissing);
      return found?.outcome === 'dead-lettered' && found;
    });
    assert.deepEqual(
      shown.attempts.map(({ attempt, outcome }) => [attempt, outcome]),
      [
        [1, 'retried'],
        [2, 'retried'],
        [3, 'dead-lettered'],
      ],
    );
    assert.ok(shown.attempts.every(({ error }) => error?.startsWith('not yet')));
  });

  test('that was refused says why, without secrets', async () => {
    const [root = ''] = await sent('c', 'Refuse', {}, 1);
    const shown = await messages.get(ann, root);
    assert.equal(shown.attempts[0]?.error, 'failed_precondition: not with https://[redacted]@host/');
  });

  test('has the messages that led to it and those that followed, to the depth that was asked for', async () => {
    const ids = await sent('d1', 'Pass', { along: ['d2', 'd3', 'd4'] }, 4);
    const [root = '', second = '', third = '', last = ''] = ids;
    const rowsOf = ({ deliveries, cut }: Awaited<ReturnType<MessageApi['causes']>>) => ({
      rows: deliveries.map(({ message_id, depth }) => [message_id, depth]),
      cut,
    });
    assert.deepEqual(rowsOf(await messages.causes(ann, last, 20)), {
      rows: [
        [third, 1],
        [second, 2],
        [root, 3],
      ],
      cut: false,
    });
    assert.deepEqual(rowsOf(await messages.causes(ann, last, 2)), {
      rows: [
        [third, 1],
        [second, 2],
      ],
      cut: true,
    });
    assert.deepEqual(rowsOf(await messages.causes(ann, last, 3)).cut, false);
    assert.deepEqual(rowsOf(await messages.causes(ann, root, 5)), { rows: [], cut: false });
    assert.deepEqual(rowsOf(await messages.effects(ann, root, 20)), {
      rows: [
        [second, 1],
        [third, 2],
        [last, 3],
      ],
      cut: false,
    });
    assert.deepEqual(rowsOf(await messages.effects(ann, root, 1)), { rows: [[second, 1]], cut: true });
    assert.deepEqual(rowsOf(await messages.effects(ann, last, 5)), { rows: [], cut: false });
  });

  test('of another tenant or of another user’s run is not found, like one that never existed', async () => {
    await node.runtime.client.ask(linkOf('e'), 'Own', { owner: 'ann' }, { identity: ann });
    const [root = ''] = await sent('e', 'Pass', { along: [] }, 1);
    for (const viewer of [user('bob'), user('ann', { tenant: 'other' })]) {
      await assert.rejects(messages.get(viewer, root), isMissing);
      await assert.rejects(messages.causes(viewer, root, 5), isMissing);
      await assert.rejects(messages.effects(viewer, root, 5), isMissing);
    }
    await assert.rejects(messages.get(ann, 'unknown'), isMissing);
    assert.equal((await messages.get(ann, root)).message_id, root);
  });
});
