import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DrivenExecution, manifestOf, programOf } from './driven-execution.ts';

const DIGITS = { validation: [{ type: 'regex', pattern: '^[0-9]+$' }] };
const S = 'execution_started';
const I = 'iteration_started';
const OK = 'iteration_completed';
const NO = 'iteration_failed';
const R = 'refinement_applied';
const DONE = 'execution_completed';
const END = 'execution_failed';

interface Path {
  readonly title: string;
  run(e: DrivenExecution): void;
  readonly events: readonly string[];
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly errors?: readonly string[];
}

const PATHS: readonly Path[] = [
  {
    title: 'a first answer without validators is accepted',
    run: (e) => {
      e.start(manifestOf());
      e.answer('short');
    },
    events: [S, I, OK, DONE],
    status: 'completed',
  },
  {
    title: 'a rejected answer is refined and tried again',
    run: (e) => {
      e.start(manifestOf({ execution: DIGITS }));
      e.answer('seven');
      e.answer('7');
    },
    events: [S, I, NO, R, I, OK, DONE],
    status: 'completed',
    errors: ['validation_failed'],
  },
  {
    title: 'when iterations run out the last failure is not refined',
    run: (e) => {
      e.start(manifestOf({ execution: { ...DIGITS, max_iterations: 2 } }));
      e.answer('a');
      e.answer('b');
    },
    events: [S, I, NO, R, I, NO, END],
    status: 'failed',
    reason: 'max_iterations_exceeded',
    message:
      'none of 2 iterations was accepted; the last one: validation_failed: regex (stdout): stdout does not match ^[0-9]+$',
    errors: ['validation_failed', 'validation_failed'],
  },
  {
    title: 'mode one-shot has one iteration',
    run: (e) => {
      e.start(manifestOf({ execution: { ...DIGITS, mode: 'one-shot', max_iterations: 5 } }));
      e.answer('a');
    },
    events: [S, I, NO, END],
    status: 'failed',
    reason: 'max_iterations_exceeded',
    errors: ['validation_failed'],
  },
  {
    title: 'a program that exits with 0 is accepted',
    run: (e) => {
      e.start(programOf());
      e.exit(0, 'out\n');
    },
    events: [S, I, OK, DONE],
    status: 'completed',
  },
  {
    title: 'a program that exits with another code fails its iteration',
    run: (e) => {
      e.start(programOf({ max_iterations: 2 }));
      e.exit(3, 'partial', { stderr: 'boom' });
      e.exit(0, 'out');
    },
    events: [S, I, NO, R, I, OK, DONE],
    status: 'completed',
    errors: ['program_failed'],
  },
  {
    title: 'a program ended by a signal fails its iteration whatever the validators say',
    run: (e) => {
      e.start(programOf({ ...DIGITS, mode: 'one-shot' }));
      e.exit(null, '7', { signal: 'SIGKILL' });
    },
    events: [S, I, NO, END],
    status: 'failed',
    reason: 'max_iterations_exceeded',
    errors: ['program_failed'],
  },
  {
    title: 'with validators an expected exit code other than 0 is accepted',
    run: (e) => {
      e.start(programOf({ validation: [{ type: 'exit_code', expected: 4 }] }));
      e.exit(4, 'out');
    },
    events: [S, I, OK, DONE],
    status: 'completed',
  },
  {
    title: 'an output over the limit is not accepted in a cut form',
    run: (e) => {
      e.start(programOf({ mode: 'one-shot' }));
      e.exit(0, 'cut', { stdout_truncated: true });
    },
    events: [S, I, NO, END],
    status: 'failed',
    reason: 'max_iterations_exceeded',
    errors: ['output_too_large'],
  },
  {
    title: 'an iteration that takes too long is failed and the next one starts',
    run: (e) => {
      e.start(manifestOf());
      e.fire('iteration');
      e.answer('late but second');
    },
    events: [S, I, NO, R, I, OK, DONE],
    status: 'completed',
    errors: ['iteration_timed_out'],
  },
  {
    title: 'a program stopped by its runner at the limit counts as timed out',
    run: (e) => {
      e.start(programOf({ mode: 'one-shot' }));
      e.exit(null, '', { timed_out: true, signal: 'SIGKILL' });
    },
    events: [S, I, NO, END],
    status: 'failed',
    reason: 'max_iterations_exceeded',
    errors: ['iteration_timed_out'],
  },
  {
    title: 'the whole execution times out in its first iteration',
    run: (e) => {
      e.start(manifestOf());
      e.fire('execution');
    },
    events: [S, I, NO, END],
    status: 'failed',
    reason: 'timed_out',
    errors: ['timed_out'],
  },
  {
    title: 'the whole execution times out in a later iteration',
    run: (e) => {
      e.start(manifestOf({ execution: DIGITS }));
      e.answer('x');
      e.chunk('partial');
      e.fire('execution');
    },
    events: [S, I, NO, R, I, 'iteration_output', NO, END],
    status: 'failed',
    reason: 'timed_out',
    errors: ['validation_failed', 'timed_out'],
  },
  {
    title: 'a cancel in the first iteration',
    run: (e) => {
      e.start(manifestOf());
      e.send('Cancel', {});
    },
    events: [S, I, NO, END],
    status: 'cancelled',
    reason: 'cancelled',
    errors: ['cancelled'],
  },
  {
    title: 'a cancel between chunks of a later iteration',
    run: (e) => {
      e.start(manifestOf({ execution: DIGITS }));
      e.answer('x');
      e.chunk('1');
      e.send('Cancel', { reason: 'enough' });
      e.chunk('2');
    },
    events: [S, I, NO, R, I, 'iteration_output', NO, END],
    status: 'cancelled',
    reason: 'cancelled',
    errors: ['validation_failed', 'cancelled'],
  },
  {
    title: 'a model that asks for tools fails its iteration',
    run: (e) => {
      e.start(manifestOf());
      e.answer('', { tool_calls: [{ id: '1', name: 'fs.read', arguments: {} }] });
      e.answer('without tools');
    },
    events: [S, I, NO, R, I, OK, DONE],
    status: 'completed',
    errors: ['unexpected_tool_calls'],
  },
  {
    title: 'an effect that failed for now fails one iteration',
    run: (e) => {
      e.start(manifestOf());
      e.result('ModelAnswered', { kind: 'failed', code: 'model_unavailable', message: '503' });
      e.answer('better');
    },
    events: [S, I, NO, R, I, OK, DONE],
    status: 'completed',
    errors: ['model_unavailable'],
  },
  {
    title: 'an effect that can never succeed ends the execution with its code',
    run: (e) => {
      e.start(programOf());
      e.result('ProgramEnded', { kind: 'failed', code: 'forbidden', message: 'host commands are not allowed' });
    },
    events: [S, I, NO, END],
    status: 'failed',
    reason: 'forbidden',
    errors: ['forbidden'],
  },
  ...['model_refused', 'image_unavailable', 'not_found', 'unsupported_isolation', 'forbidden'].map((code) => ({
    title: `${code}, which trying again cannot mend, ends the run at once under its own code`,
    run: (e: DrivenExecution) => {
      e.start(manifestOf({ execution: { max_iterations: 10 } }));
      e.result('ModelAnswered', { kind: 'failed', code, message: 'it answered 401' });
    },
    events: [S, I, NO, END],
    status: 'failed',
    reason: code,
    message: 'it answered 401',
    errors: [code],
  })),
  {
    title: 'a malformed answer fails one iteration',
    run: (e) => {
      e.start(manifestOf({ execution: { mode: 'one-shot' } }));
      e.result('ModelAnswered', { kind: 'done', value: { txt: 1 } });
    },
    events: [S, I, NO, END],
    status: 'failed',
    reason: 'max_iterations_exceeded',
    errors: ['model_failed'],
  },
];

for (const path of PATHS) {
  test(path.title, () => {
    const driven = new DrivenExecution();
    path.run(driven);
    assert.deepEqual(driven.names, path.events);
    assert.equal(driven.view.status, path.status);
    assert.deepEqual(
      driven.payloads(NO).map((payload) => (payload.error as { error_type: string }).error_type),
      path.errors ?? [],
    );
    const ending = driven.payloads(END).at(-1);
    assert.equal(ending?.reason, path.reason);
    if (path.message !== undefined) assert.equal(ending?.message, path.message);
    assert.equal(driven.timers.size, 0, 'an ended execution leaves no timer');
  });
}

test('a cancel stops the running effect and answers; a second one is refused', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf());
  const effect = driven.effectId;
  const cancelled = driven.send('Cancel', {});
  assert.deepEqual(cancelled.reply, { ok: true, value: { cancelled: true } });
  assert.deepEqual(cancelled.cancelled, [effect]);
  const again = driven.send('Cancel', {});
  assert.equal(again.reply?.ok === false && again.reply.code, 'failed_precondition');
  assert.equal(driven.names.length, 4);
});

test('a cancel of an execution that was never started is not_found', () => {
  const reply = new DrivenExecution().send('Cancel', {}).reply;
  assert.equal(reply?.ok === false && reply.code, 'not_found');
});

test('a timed out iteration stops its effect, and the answer that comes late is ignored', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf());
  const late = driven.effectId;
  assert.deepEqual(driven.fire('iteration').cancelled, [late]);
  const before = driven.names.length;
  driven.result('ModelAnswered', { kind: 'done', value: { text: 'late' } }, late);
  driven.send('IterationTimedOut', { iteration: 1 }, 'timer');
  assert.equal(driven.names.length, before);
  assert.equal(driven.view.status, 'running');
});

test('the wire objects carry ids, numbers, times, output and reason', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf({ execution: DIGITS }));
  driven.advance(1_500);
  driven.answer('seven');
  driven.answer('7');
  assert.deepEqual(driven.payloads(S), [
    {
      execution_id: '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a01',
      agent_id: '9b1d6c1e-52a4-4a5e-8a55-6f1f0c2b7e02',
      started_at: '2026-01-01T00:00:00.000Z',
    },
  ]);
  assert.equal(driven.payloads(I)[0]?.action, 'generate');
  assert.equal(driven.payloads(NO)[0]?.failed_at, '2026-01-01T00:00:01.500Z');
  assert.deepEqual(driven.payloads(R)[0]?.code_diff, '', 'nothing to compare the first output with');
  assert.equal(driven.payloads(OK)[0]?.output, '7');
  const completed = driven.payloads(DONE)[0];
  assert.equal(completed?.final_output, '7');
  assert.equal(completed?.total_iterations, 2);
});

test('the second refinement is a unified diff of the last two outputs', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf({ execution: DIGITS }));
  driven.answer('one\ntwo\n');
  driven.answer('one\nthree\n');
  const diff = String(driven.payloads(R)[1]?.code_diff);
  assert.equal(diff, '--- previous\n+++ current\n@@ -1,2 +1,2 @@\n one\n-two\n+three');
});

test('tokens and cost of all answers are added up, rejected ones too', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf({ execution: DIGITS }));
  driven.answer('x');
  driven.answer('7');
  const state = driven.view;
  assert.ok(state.status === 'completed');
  assert.deepEqual(state.usage, { input_tokens: 20, output_tokens: 10, cost: 1 });
  assert.equal(state.last_output, '7');
  assert.equal(state.last_error, null);
});
