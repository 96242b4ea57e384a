import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isSampled } from '../../app/tracing.ts';
import { createOptions } from '../../effects/containers/create-options.ts';
import { ContainerInput } from '../../effects/containers/input.ts';
import { openExporter } from '../../effects/otlp/readable-spans.ts';
import { SpanExport } from '../../effects/otlp/span-export.ts';
import { commandEnvironment } from '../../effects/programs/environment.ts';
import { asCallOf, asEffectOf, asSpan, followsFrom, outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { Message } from '../../runtime/message.ts';
import { systemRandom } from '../../runtime/random.ts';
import type { DeliveredTurn, EndedSpan } from '../../runtime/tracing/spans.ts';
import {
  callingSpan,
  spanOfAttempt,
  spanOfMessage,
  traceHeaders,
  traceVariables,
} from '../../runtime/tracing/trace-context.ts';
import { HandClock } from '../support/hand-clock.ts';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { waitUntil } from '../support/wait-until.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const OTHER = '1'.repeat(32);
const MOST = 1_000;

const turn = (message: Partial<Message>, row: Partial<DeliveredTurn['row']> = {}): DeliveredTurn => ({
  message: {
    ...{ id: 'm', to: 'counter/acme/a', from: null, cause: null, trace: TRACE, origin: 'client', type: 'Add' },
    payload: { secret: 'canary' },
    ...message,
  },
  at: 1_700_000_000_000,
  row: { outcome: 'done', waitMs: 5, turnUs: 250, ...row },
  epoch: 3,
});

describe('the export of spans', () => {
  const receiver = new OtlpReceiver();
  const logged: Readonly<Record<string, unknown>>[] = [];
  let endpoint = '';
  before(async () => {
    endpoint = await receiver.start();
  });
  after(() => receiver.stop());
  const opened = (mostWaiting = MOST, clock: Clock = systemClock): SpanExport =>
    new SpanExport({
      open: async () =>
        openExporter({ endpoint, headers: async () => ({}), serviceName: 's', node: 'n', version: '1' }),
      mostWaiting,
      clock,
      log: { warn: (fields) => void logged.push(fields) },
    });

  test('gives a delivery its sender, effect or caller as parent, and a link to a cause of any earlier time', async () => {
    const spans = opened();
    const messages: readonly Partial<Message>[] = [
      { id: 'called', parentSpan: SPAN },
      { id: 'sent', cause: 'called', origin: 'actor' },
      { id: 'result', cause: 'called', origin: 'effect', payload: { effectId: 'e', attempt: 2 } },
      { id: 'timed', cause: 'called', origin: 'timer', timer: 'expiry' },
      { id: 'answered', cause: 'called', origin: 'client' },
      { id: 'goes-on', cause: 'called', origin: 'actor', trace: OTHER, causeTrace: TRACE },
    ];
    for (const message of messages) spans.delivered(turn(message));
    spans.delivered(turn({ id: 'called' }, { outcome: 'retried', attempt: 1 }));
    for (const outcome of ['deferred', 'stale', 'postponed'] as const) spans.delivered(turn({}, { outcome }));
    await spans.close();
    const seen = receiver.spans.map(({ trace_id, span_id, parent_span_id = null, links, status }) => [
      ...[trace_id, span_id, parent_span_id],
      links.map((link) => [link.trace_id, link.span_id]),
      status?.code ?? 0,
    ]);
    const called = spanOfMessage('called');
    assert.deepEqual(seen, [
      [TRACE, called, SPAN, [], 0],
      [TRACE, spanOfMessage('sent'), called, [], 0],
      [TRACE, spanOfMessage('result'), spanOfAttempt('e', 2), [], 0],
      [TRACE, spanOfMessage('timed'), null, [[TRACE, called]], 0],
      [TRACE, spanOfMessage('answered'), null, [[TRACE, called]], 0],
      [OTHER, spanOfMessage('goes-on'), null, [[TRACE, called]], 0],
      [TRACE, spanOfMessage('called', 1), null, [], 2],
    ]);
    const [first] = receiver.spans;
    assert.deepEqual(
      [first?.start_time_unix_nano, first?.end_time_unix_nano],
      ['1700000000005000000', '1700000000005250000'],
    );
    assert.ok(receiver.bodies.every((body) => !body.includes('canary')));
  });

  test('keeps no more spans than its limit while the receiver hangs, counts and logs the others, and stops in time', async () => {
    receiver.hangs = true;
    const clock = new HandClock();
    const spans = opened(MOST, clock);
    const before = receiver.paths.length;
    for (let n = 0; n < 3 * MOST; n += 1) spans.delivered(turn({ id: `m${n}` }));
    assert.deepEqual(spans.counts, { exported: 0, dropped: 2 * MOST, failed: 0 });
    await clock.pass(1_000);
    await waitUntil('a batch to be under way', () => receiver.paths.length > before);
    let isStopped = false;
    const stopping = spans.close().then(() => {
      isStopped = true;
    });
    // The receiver would be waited for as long as its client does, five seconds.
    await clock.pass(2_000);
    assert.ok(isStopped, 'two seconds of its clock are over');
    await stopping;
    receiver.hangs = false;
    spans.delivered(turn({}));
    assert.equal(spans.counts.exported, 0, 'no span is accepted after the stop');
  });

  test('logs once how many spans were lost without a receiver', async () => {
    const gone = new SpanExport({
      open: async () => ({ export: async () => new Error('connect ECONNREFUSED'), shutdown: async () => {} }),
      mostWaiting: MOST,
      clock: systemClock,
      log: { warn: (fields) => void logged.push(fields) },
    });
    for (let n = 0; n < 600; n += 1) gone.delivered(turn({ id: `m${n}` }));
    await waitUntil('all to fail', () => gone.counts.failed === 600);
    await gone.close();
    assert.deepEqual(logged, [{ spans: 256, reason: 'connect ECONNREFUSED' }]);
  });
});

describe('sampling', () => {
  const begun = (samples: boolean, asked = {}) =>
    followsFrom(asked, { newTrace: () => TRACE, samples: () => samples }).traceContext;

  test('a ratio takes its share of the traces, and a larger ratio includes those of a smaller one', () => {
    const traces = Array.from({ length: 4_000 }, () => systemRandom.hex(16));
    const taken = (ratio: number) => traces.filter((trace) => isSampled(trace, ratio));
    assert.deepEqual([taken(0).length, taken(1).length], [0, traces.length]);
    const [few, many] = [taken(0.1), new Set(taken(0.5))];
    assert.ok(few.length > 250 && few.length < 550, `${few.length}`);
    assert.ok(few.every((trace) => many.has(trace)));
  });

  test('sampling is decided where a trace begins, and kept by its later calls and for callers that decided', () => {
    assert.deepEqual([begun(true), begun(false)], [undefined, { sampled: false }]);
    assert.equal(begun(false, { trace: TRACE, cause: 'asked' }), undefined);
    assert.deepEqual(begun(true, { trace: TRACE, cause: 'asked', traceContext: { sampled: false } }), {
      sampled: false,
    });
    const called = { trace: TRACE, span: SPAN, context: undefined };
    assert.equal(
      asCallOf(called, () => begun(false, { trace: TRACE })),
      undefined,
    );
  });
});

describe('trace context of calls to other systems', () => {
  const ended: EndedSpan[] = [];
  const sink = { delivered() {}, ended: (span: EndedSpan) => void ended.push(span) };
  const effect = { cause: 'c', trace: TRACE, tenant: 'acme', effectId: 'e', attempt: 1, sink };
  const inEffect = <T>(work: () => T | Promise<T>): Promise<T> =>
    asEffectOf({ ...effect, traceContext: { state: 'a=b' } }, async () => work());

  test('commands and containers get the trace in their environment, which their own variables override', async () => {
    const variables = traceVariables(traceHeaders(TRACE, spanOfAttempt('e', 1), { state: 'a=b' }));
    assert.deepEqual(Object.keys(variables), ['TRACEPARENT', 'TRACESTATE']);
    const about = { workspace: '/w', run: 'r' };
    const found = await inEffect(() => [
      commandEnvironment({}, about).TRACEPARENT,
      commandEnvironment({ TRACEPARENT: 'own' }, about).TRACEPARENT,
      createOptions({
        input: ContainerInput.parse({
          ...{ workflow_execution_id: 'x', state_name: 's', image: 'alpine', command: ['true'], timeout_ms: 1_000 },
        }),
        owner: { tenant: 'acme', executionId: 'x', effectId: 'e', address: 'workflow/acme/x' },
        ...{ realm: 'r', node: 'n', mounts: [], cpus: 1, init: false },
        limits: {
          ...{ networkMode: 'none', pids: 1, cpuMillicores: 1, memoryBytes: 1, readOnlyRoot: true, tmpBytes: 1 },
          ...{ outputBytes: 1, alwaysPull: false },
        },
      }).Env,
    ]);
    assert.deepEqual(found, [
      variables.TRACEPARENT,
      'own',
      [`TRACEPARENT=${variables.TRACEPARENT}`, `TRACESTATE=${variables.TRACESTATE}`],
    ]);
    assert.equal(commandEnvironment({}, about).TRACEPARENT, undefined, 'outside of effects there is no trace');
  });

  test('a call names its own span, which is exported when it has ended, with the code of its error', async () => {
    const failing = inEffect(() =>
      asSpan({ name: 'call', kind: 'client', attributes: {} }, async (add) => {
        add({ late: true });
        throw new Error(String(outgoingTrace()?.traceparent));
      }),
    );
    const message = await failing.then(String, String);
    const [span] = ended;
    assert.deepEqual(
      [span?.trace, span?.parent, span?.attributes, span?.error],
      [TRACE, spanOfAttempt('e', 1), { late: true }, 'internal'],
    );
    assert.equal(message, `Error: 00-${TRACE}-${span?.id}-01`);
  });

  test('headers that W3C does not allow are dropped', () => {
    const parent = `00-${TRACE}-${SPAN}-01`;
    for (const wrong of [
      '',
      `00-${'0'.repeat(32)}-${SPAN}-01`,
      `${parent}-more`,
      `ff${parent.slice(2)}`,
      parent.toUpperCase(),
    ])
      assert.equal(callingSpan(wrong), null, wrong);
    assert.deepEqual(callingSpan(`01${parent.slice(2)}-more`), { trace: TRACE, span: SPAN, context: undefined });
    assert.deepEqual(callingSpan(parent.replace(/01$/, '00'))?.context, { sampled: false });
    assert.deepEqual(callingSpan(parent, ['a=b', 'c@d=e'])?.context, { state: 'a=b,c@d=e' });
    for (const state of ['no member', 'A=b', 'a=b\u0001', `a=${'x'.repeat(600)}`])
      assert.equal(callingSpan(parent, state)?.context, undefined, state);
  });
});
