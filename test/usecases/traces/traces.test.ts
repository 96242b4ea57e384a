import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addressOf } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import type { LedgerDelivery, LedgerReader } from '../../../runtime/ledger/ledger-reader.ts';
import { NewerVersion } from '../../../runtime/turns/record.ts';
import { nextTrace } from '../../../runtime/turns/trace-count.ts';
import type { ExecutionStatus } from '../../../usecases/execution-status.ts';
import type { TraceParts } from '../../../usecases/traces/trace.ts';
import { openTraceEffects } from '../../../usecases/traces/trace-effects.ts';
import { createTraceApi, type TraceApi } from '../../../usecases/traces/traces.ts';
import type { KernelNode } from '../../support/kernel-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { isMissing, linkOf, newTrace, openLinks, SECRET, user } from './fixture.ts';

const ann = user('ann');

describe('a trace', () => {
  let node: KernelNode;
  let parts: TraceParts;
  let traces: TraceApi;
  before(async () => {
    ({ node, parts } = await openLinks());
    traces = createTraceApi(parts);
  });
  after(() => node.stop());

  const tell = (id: string, type: string, payload: object, trace: string, identity = ann) =>
    node.runtime.client.tell(linkOf(id), type, JSON.parse(JSON.stringify(payload)), { trace, identity });
  const page = (trace: string, viewer = ann, next?: string, limit = 1_000) =>
    traces.page(viewer, trace, { limit, next });
  /** The trace once it holds that many deliveries. */
  const settled = (trace: string, count: number, viewer = ann) =>
    waitUntil(`${count} deliveries of the trace`, async () => {
      const found = await page(trace, viewer).catch((error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      });
      return found !== null && found.deliveries.length >= count && found;
    });

  test('has all its deliveries as one graph whose root alone has no cause', async () => {
    const trace = newTrace();
    await tell('a1', 'Pass', { along: ['b1', 'c1', 'd1'] }, trace);
    const found = await settled(trace, 4);
    assert.deepEqual(
      found.deliveries.map(({ to, from, type, outcome }) => [to, from, type, outcome]),
      [
        ['link/acme/a1', null, 'Pass', 'done'],
        ['link/acme/b1', 'link/acme/a1', 'Pass', 'done'],
        ['link/acme/c1', 'link/acme/b1', 'Pass', 'done'],
        ['link/acme/d1', 'link/acme/c1', 'Pass', 'done'],
      ],
    );
    const ids = found.deliveries.map(({ message_id }) => message_id);
    assert.deepEqual(
      found.deliveries.map(({ cause_id }) => cause_id),
      [null, ...ids.slice(0, 3)],
    );
    assert.equal(found.root, ids[0]);
    assert.deepEqual(
      [found.trace_id, found.status, found.next, found.kept_from],
      [trace, 'completed', null, undefined],
    );
    assert.ok(found.deliveries.every((one) => one.node === 'node-a' && one.epoch >= 1 && one.attempt === 1));
    assert.ok(Date.parse(found.ended_at ?? '') >= Date.parse(found.started_at));
  });

  test('has its effects with who asked for them, where they ran, and their outcome', async () => {
    const trace = newTrace();
    await tell('a2', 'Work', { value: 'x' }, trace);
    const found = await settled(trace, 2);
    const [effect] = found.effects;
    assert.equal(effect?.message_id, found.root);
    assert.deepEqual([effect?.kind, effect?.attempt, effect?.node, effect?.outcome], ['echo', 1, 'node-a', 'done']);
    assert.ok((effect?.started_at ?? '~') <= (effect?.ended_at ?? ''));
    assert.equal(found.deliveries[1]?.cause_id, found.root);
  });

  test('pages neither skip nor repeat, also while it grows', async () => {
    const trace = newTrace();
    await tell('a3', 'Pass', { along: ['b3', 'c3', 'd3', 'e3'] }, trace);
    await settled(trace, 5);
    const first = await page(trace, ann, undefined, 2);
    await tell('a3', 'Pass', { along: [] }, trace);
    await settled(trace, 6);
    const seen = first.deliveries.map(({ message_id }) => message_id);
    for (let next = first.next; next !== null; ) {
      const more = await page(trace, ann, next, 2);
      assert.deepEqual([more.root, more.status], [first.root, first.status]);
      seen.push(...more.deliveries.map(({ message_id }) => message_id));
      next = more.next;
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.equal(seen.length, 6);
    const streamed = [];
    for await (const part of traces.pages(ann, trace)) streamed.push(...part.deliveries);
    assert.equal(streamed.length, 6);
    await assert.rejects(page(trace, ann, 'nonsense'), (error: unknown) => {
      return error instanceof SvcError && error.code === 'invalid_argument' && error.field === 'next';
    });
  });

  test('counts the attempts of a message that fails, and has failed with its last one', async () => {
    const trace = newTrace();
    await tell('a4', 'Fail', { times: 99 }, trace);
    const found = await waitUntil('the last attempt', async () => {
      const now = await settled(trace, 1);
      return now.deliveries.some(({ outcome }) => outcome === 'dead-lettered') && now;
    });
    const attempts = found.deliveries.filter(({ type }) => type === 'Fail');
    assert.deepEqual(
      attempts.map(({ attempt, outcome }) => [attempt, outcome]),
      [
        [1, 'retried'],
        [2, 'retried'],
        [3, 'dead-lettered'],
      ],
    );
    assert.equal(found.status, 'failed');
  });

  test('says where its time went, and its critical path goes from the root to its end', async () => {
    const trace = newTrace();
    await tell('a5', 'Later', { afterMs: 60 }, trace);
    await settled(trace, 2);
    const summary = await traces.summary(ann, trace);
    assert.equal(summary.deliveries, 2);
    assert.ok(summary.timers_ms >= 50, `${summary.timers_ms} ms of timers`);
    assert.equal(summary.critical_path.duration_ms, summary.duration_ms);
    const path = await traces.criticalPath(ann, trace);
    assert.ok(path.steps.some(({ kind, ms }) => kind === 'timer' && ms >= 50));
    assert.equal(path.steps[0]?.message_id, path.root);
  });

  test('that continues in another one names it, and is named by it; only to readers who see it', async () => {
    const trace = newTrace();
    const [next, later] = [nextTrace(trace), nextTrace(nextTrace(trace))];
    await tell('lk1', 'Pass', { along: [] }, trace);
    const { root } = await settled(trace, 1);
    await node.runtime.client.ask(linkOf('lk2'), 'Own', { owner: 'ann' }, { identity: ann });
    const goOn = async (id: string, to: string, cause: string | null | undefined): Promise<string | undefined> => {
      assert.ok(typeof cause === 'string');
      await node.runtime.client.tell(linkOf(id), 'Pass', { along: [] }, { trace: to, cause, identity: ann });
      return (await settled(to, 1)).deliveries[0]?.message_id;
    };
    const second = await goOn('lk1', next, root);
    await goOn('lk2', later, second);
    const first = { trace_id: trace, relation: 'previous' };
    assert.deepEqual((await page(trace)).links, [{ trace_id: next, relation: 'next' }]);
    assert.deepEqual((await page(next)).links, [first, { trace_id: later, relation: 'next' }]);
    assert.deepEqual((await page(next)).root, null);
    assert.deepEqual((await traces.summary(ann, later)).links, [{ trace_id: next, relation: 'previous' }]);
    assert.deepEqual((await traces.criticalPath(ann, next)).links.length, 2);
    assert.deepEqual((await page(next, user('bob'))).links, [first]);
  });

  test('of a run and that of a cancel of it name one another', async () => {
    const [trace, cancel] = [newTrace(), newTrace()];
    const run = addressOf('execution', 'acme', 'run-1');
    const standing: ExecutionStatus = {
      execution_id: 'run-1',
      agent_id: 'a',
      status: 'running',
      iteration_count: 0,
      last_output: null,
      last_error: null,
      outcome: null,
      started_at: null,
      ended_at: null,
      usage: { input_tokens: 0, output_tokens: 0, cost: 0 },
      trace_id: trace,
    };
    const executions = { status: async () => standing, hasEnded: async () => false };
    const ofRuns = createTraceApi({ ...parts, executions });
    const { client } = node.runtime;
    await client.tell(run, 'Start', {}, { trace, identity: ann });
    await client.tell(run, 'Cancel', {}, { trace: cancel, identity: ann });
    const links = (of: string) => ofRuns.page(ann, of, { limit: 10 }).then((found) => found.links);
    await waitUntil('the links of the run', async () => (await links(trace).catch(() => [])).length > 0);
    assert.deepEqual(await links(trace), [{ trace_id: cancel, relation: 'call' }]);
    assert.deepEqual(await links(cancel), [{ trace_id: trace, relation: 'run' }]);
    // In what goes on from it the run stands as it does.
    const { root } = await ofRuns.page(ann, trace, { limit: 1 });
    await client.tell(run, 'Rung', {}, { trace: nextTrace(trace), cause: root ?? '', identity: ann });
    await waitUntil('the linked trace', async () => (await links(trace)).some(({ relation }) => relation === 'next'));
    assert.equal((await ofRuns.page(ann, nextTrace(trace), { limit: 1 })).status, 'running');
  });

  test('in which a caller started several runs stands as they all do, and ends with the last', async () => {
    const trace = newTrace();
    const [early, late] = ['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:09.000Z'];
    const standings: Record<string, [ExecutionStatus['status'], string | null]> = {
      'of-two-1': ['completed', early],
      'of-two-2': ['running', null],
    };
    const status = async (_viewer: Identity, id: string): Promise<ExecutionStatus> => {
      const [now, ended_at] = standings[id] ?? ['failed', null];
      const usage = { input_tokens: 0, output_tokens: 0, cost: 0 };
      const none = { last_output: null, last_error: null, outcome: null, started_at: null };
      return { execution_id: id, agent_id: 'a', status: now, iteration_count: 0, ...none, ended_at, usage };
    };
    const ofRuns = createTraceApi({ ...parts, executions: { status, hasEnded: async () => false } });
    for (const id of Object.keys(standings))
      await node.runtime.client.tell(addressOf('execution', 'acme', id), 'Start', {}, { trace, identity: ann });
    await waitUntil('both starts', async () => {
      const found = await ofRuns.page(ann, trace, { limit: 10 }).catch(() => null);
      return (found?.deliveries.length ?? 0) >= 2;
    });
    const standing = async (limit: number) => {
      const found = await ofRuns.page(ann, trace, { limit });
      return [found.status, found.ended_at];
    };
    assert.deepEqual(await standing(10), ['running', null]);
    standings['of-two-2'] = ['failed', late];
    assert.deepEqual(await standing(10), ['failed', late]);
    // However small the page is.
    assert.deepEqual(await standing(1), ['failed', late]);
  });

  test('of a run that a newer version wrote is listed and shown, as its deliveries say', async () => {
    const trace = newTrace();
    const newer = async (): Promise<never> => {
      throw new NewerVersion('a newer version (2) of execution wrote this actor');
    };
    const { client } = node.runtime;
    await client.tell(addressOf('execution', 'acme', 'newer'), 'Start', {}, { trace, identity: ann });
    const executions = { status: newer, hasEnded: newer };
    const old = createTraceApi({ ...parts, executions });
    const operator = user('op', { kind: 'operator', roles: ['svc:operator'] });
    const rows = await waitUntil('the trace in the list', async () => {
      const found = (await old.list(operator, { limit: 200 })).traces.filter((one) => one.trace_id === trace);
      return found.length > 0 && found;
    });
    // The kernel of the test knows no executions, so it refused the message.
    assert.equal(rows[0]?.status, 'failed');
    // Lists have a delivery some milliseconds before its keys are written.
    const shown = await waitUntil('the page of the trace', () =>
      old.page(operator, trace, { limit: 10 }).catch((thrown: unknown) => {
        if (isMissing(thrown)) return null;
        throw thrown;
      }),
    );
    assert.equal(shown.status, 'failed');
    // Nothing says whose run it is.
    assert.ok(!(await old.list(ann, { limit: 200 })).traces.some((one) => one.trace_id === trace));
  });

  test('of another tenant or of another user’s run is not found, like one that never existed', async () => {
    const trace = newTrace();
    await node.runtime.client.ask(linkOf('a6'), 'Own', { owner: 'ann' }, { identity: ann });
    await tell('a6', 'Pass', { along: [] }, trace);
    await settled(trace, 1);
    for (const viewer of [user('bob'), user('ann', { tenant: 'other' })]) {
      await assert.rejects(page(trace, viewer), isMissing);
      await assert.rejects(traces.summary(viewer, trace), isMissing);
      await assert.rejects(traces.criticalPath(viewer, trace), isMissing);
      const { traces: rows } = await traces.list(viewer, { limit: 200 });
      assert.ok(!rows.some((row) => row.trace_id === trace));
    }
    await assert.rejects(page('f'.repeat(32)), isMissing);
    const confidential = newTrace();
    await tell('a7', 'Pass', { along: [] }, confidential, { ...ann, confidential: true });
    await settled(confidential, 1);
    await assert.rejects(page(confidential, user('bob')), isMissing);
    const operator = user('olga', { kind: 'operator', roles: ['svc:operator'] });
    assert.equal((await page(confidential, operator)).deliveries.length, 1);
  });

  test('is listed newest first with each filter, and the pages of the list hold each once', async () => {
    const [one, two, three] = [newTrace(), newTrace(), newTrace()];
    await tell('l1', 'Pass', { along: ['l2'], note: 'needle' }, one);
    await settled(one, 2);
    await tell('l3', 'Refuse', {}, two);
    await settled(two, 1);
    await tell('l4', 'Work', { value: 'v' }, three);
    await settled(three, 2);
    const ids = async (filter: object) =>
      (await traces.list(ann, { limit: 200, ...filter })).traces.map(({ trace_id }) => trace_id);
    const mine = (all: readonly string[]) => all.filter((id) => [one, two, three].includes(id));
    assert.deepEqual(mine(await ids({})), [three, two, one]);
    assert.deepEqual(mine(await ids({ text: 'NEEDLE' })), [one]);
    assert.deepEqual(mine(await ids({ status: 'failed' })), [two]);
    assert.deepEqual(mine(await ids({ errorCode: 'refused' })), [two]);
    assert.deepEqual(mine(await ids({ kind: 'link', node: 'node-a', actorKind: 'link' })), [three, two, one]);
    for (const none of [{ kind: 'other' }, { node: 'node-b' }, { actorKind: 'other' }, { name: 'x' }])
      assert.deepEqual(await ids(none), [], JSON.stringify(none));
    assert.deepEqual(await ids({ to: 1_000 }), []);
    assert.deepEqual(await ids({ leastMs: 3_600_000 }), []);
    const all = await ids({});
    const paged: string[] = [];
    for (let next: string | null | undefined; next !== null; ) {
      const list = await traces.list(ann, { limit: 3, next: next ?? undefined });
      paged.push(...list.traces.map(({ trace_id }) => trace_id));
      next = list.next;
    }
    assert.deepEqual(paged, all);
  });

  test('shows no secret, and a search finds none', async () => {
    const trace = newTrace();
    await tell('s1', 'Pass', { along: [], api_key: SECRET, note: `Bearer ${SECRET}` }, trace);
    await tell('s1', 'Refuse', {}, trace);
    await settled(trace, 2);
    const answers = [
      await page(trace),
      await traces.summary(ann, trace),
      await traces.criticalPath(ann, trace),
      await traces.list(ann, { limit: 200 }),
    ];
    assert.doesNotMatch(JSON.stringify(answers), new RegExp(SECRET));
    assert.deepEqual((await traces.list(ann, { limit: 200, text: SECRET })).traces, []);
  });

  test('a short page of a list costs few readings of the ledger, and pages hold each match once', async () => {
    const wanted: string[] = [];
    for (let count = 0; count < 90; count += 1) {
      const trace = newTrace();
      if (count % 9 === 8) wanted.unshift(trace);
      await tell('few', 'Pass', { along: [], note: count % 9 === 8 ? 'thimble' : 'hay' }, trace);
    }
    await settled(wanted[0] ?? '', 1);
    const { ledger } = parts;
    assert.ok(ledger !== null);
    let readings = 0;
    const counted: LedgerReader = {
      ...ledgerWith([], null),
      recent(...asked) {
        readings += 1;
        return ledger.recent(...asked);
      },
    };
    const over = createTraceApi({ ...parts, ledger: counted });
    assert.deepEqual((await over.list(ann, { limit: 1, text: 'in no trace' })).traces, []);
    assert.ok(readings <= 12, `${readings} readings for nothing`);
    for (const limit of [1, 2, 3, 10]) {
      const found: string[] = [];
      for (let next: string | null | undefined; next !== null; ) {
        const list = await over.list(ann, { limit, text: 'thimble', next: next ?? undefined });
        found.push(...list.traces.map(({ trace_id }) => trace_id));
        assert.ok(list.traces.length <= limit);
        next = list.next;
      }
      assert.deepEqual(found, wanted);
    }
  });

  /** The ledger, but with these deliveries in each page of a trace. */
  function ledgerWith(deliveries: readonly LedgerDelivery[], next: string | null, read = () => {}): LedgerReader {
    const { ledger } = parts;
    assert.ok(ledger !== null);
    return {
      message: (...asked) => ledger.message(...asked),
      causedBy: (...asked) => ledger.causedBy(...asked),
      actor: (...asked) => ledger.actor(...asked),
      effect: (...asked) => ledger.effect(...asked),
      recent: (...asked) => ledger.recent(...asked),
      keptFrom: (tenant) => ledger.keptFrom(tenant),
      async trace() {
        read();
        return { deliveries, next };
      },
    };
  }

  /** A delivery to an execution, of which readers of this kernel see none. */
  async function hidden(trace: string): Promise<LedgerDelivery> {
    const { ledger } = parts;
    const [one] = (await ledger?.trace('acme', trace, { limit: 1 }))?.deliveries ?? [];
    assert.ok(one !== undefined);
    return { ...one, message: { ...one.message, to: addressOf('execution', 'acme', 'hidden') } };
  }

  test('that is long and hidden is abandoned after 10,000 deliveries', async () => {
    const trace = newTrace();
    await tell('h1', 'Pass', { along: [] }, trace);
    await settled(trace, 1);
    const one = await hidden(trace);
    let pages = 0;
    const full = Array.from({ length: 1_000 }, () => one);
    const endless = ledgerWith(full, 'more', () => {
      pages += 1;
      if (pages > 100) throw new Error('it is read without an end');
    });
    await assert.rejects(createTraceApi({ ...parts, ledger: endless }).page(ann, trace, { limit: 1_000 }), isMissing);
    assert.ok(pages <= 12);
  });

  test('that is read as lines is read from the ledger once, also when its end is not known before', async () => {
    const trace = newTrace();
    await tell('h0', 'Pass', { along: [] }, trace);
    await settled(trace, 1);
    const [one] = (await parts.ledger?.trace('acme', trace, { limit: 1 }))?.deliveries ?? [];
    assert.ok(one !== undefined);
    let read = 0;
    const ledger: LedgerReader = {
      ...ledgerWith([one], null),
      async trace(_tenant, id, { limit, after }) {
        if (id !== trace) return { deliveries: [], next: null };
        read += limit;
        const from = Number(after ?? 0);
        const some = Array.from({ length: limit }, (_, at) => ({ ...one, seq: from + at + 1 }));
        return { deliveries: some, next: from + limit < 15_000 ? `${from + limit}` : null };
      },
    };
    let pages = 0;
    for await (const { status, ended_at, deliveries } of createTraceApi({ ...parts, ledger }).pages(ann, trace)) {
      pages += 1;
      assert.deepEqual([status, ended_at !== null, deliveries.length], ['completed', true, 1_000]);
    }
    assert.deepEqual([pages, read], [15, 15_000]);
  });

  test('is not found by a kind of actors of which the reader sees none in it', async () => {
    const trace = newTrace();
    await tell('h2', 'Pass', { along: [] }, trace);
    await settled(trace, 1);
    const over = createTraceApi({ ...parts, ledger: ledgerWith([await hidden(trace)], null) });
    assert.deepEqual((await over.list(ann, { limit: 200, actorKind: 'execution' })).traces, []);
  });

  test('reads the open effects of a partition once, however many of its actors are there', async () => {
    const trace = newTrace();
    await tell('h3', 'Pass', { along: ['h4', 'h5', 'h6'] }, trace);
    await settled(trace, 4);
    const found = await parts.ledger?.trace('acme', trace, { limit: 10 });
    let reads = 0;
    const open = await openTraceEffects(
      {
        client: { partitionOf: async () => 'default:0' },
        payloads: parts.payloads,
        store: {
          openEffects: async () => {
            reads += 1;
            return [];
          },
          effectBodies: async () => [],
        },
      },
      trace,
      found?.deliveries ?? [],
    );
    assert.deepEqual([open, reads], [[], 1]);
  });
});
