import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execution } from '../../../actors/execution/definition.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { decodeRecord, encodeRecord } from '../../../runtime/turns/record.ts';
import { DrivenExecution, EXECUTION_ID, manifestOf, programOf } from './driven-execution.ts';

const DIGITS = { validation: [{ type: 'regex', pattern: '^[0-9]+$' }] };
const learning = (execution = {}) => manifestOf({ execution: { ...DIGITS, memory: true, ...execution } });

const PATTERN = {
  pattern_id: 'p1',
  solution_approach: 'answer with digits only',
  solution_code: '7',
  success_score: 0.75,
};

function remember(e: DrivenExecution, outcome: Json, effectId = e.effectId) {
  return e.send('MemoryAnswered', { effectId, kind: 'pattern.query', attempt: 1, outcome }, 'effect');
}
const found = (e: DrivenExecution, ...patterns: Json[]) => remember(e, { kind: 'done', value: { patterns } });
const failed = { kind: 'failed', code: 'unavailable', message: 'the store is down' };

const asked = (e: DrivenExecution) => {
  const effect = e.effects.get(e.effectId);
  return { kind: effect?.request.kind, mode: effect?.request.mode, input: effect?.request.input };
};

const UP_TO_FAILURE = ['execution_started', 'iteration_started', 'iteration_failed'];
const UP_TO_SECOND = [...UP_TO_FAILURE, 'refinement_applied', 'iteration_started'];
const UP_TO_ACCEPTED = [...UP_TO_SECOND, 'iteration_completed'];

/** An execution whose first iteration failed, waiting for patterns. */
function failedOnce(): DrivenExecution {
  const e = new DrivenExecution();
  e.start(learning());
  e.answer('seven');
  return e;
}

/** One whose second iteration was accepted, waiting until its pattern is stored. */
function accepted(): DrivenExecution {
  const e = failedOnce();
  found(e);
  e.answer('7');
  return e;
}

test('after a failure the next prompt waits for learned patterns and holds them', () => {
  const e = failedOnce();
  assert.deepEqual(e.names, UP_TO_FAILURE);
  const { kind, mode, input } = asked(e);
  assert.equal(kind, 'pattern.query');
  assert.equal(mode, 'repeatable');
  assert.equal(input?.error_type, 'validation_failed');
  assert.match(String(input?.error_signature), /^regex/);
  found(e, PATTERN);
  assert.deepEqual(e.names, UP_TO_SECOND);
  assert.match(e.prompt, /Earlier attempts/);
  assert.match(
    e.prompt,
    /What solved errors like this before[\s\S]*success 0\.75[\s\S]*answer with digits only[\s\S]*7/,
  );
});

test('without a pattern, an answer, or a well-formed answer the next prompt is the one without memory', () => {
  const plain = new DrivenExecution();
  plain.start(manifestOf({ execution: DIGITS }));
  plain.answer('seven');
  const outcomes: Json[] = [
    { kind: 'done', value: { patterns: [] } },
    { kind: 'done', value: 'nonsense' },
    { kind: 'in_doubt' },
    failed,
  ];
  for (const outcome of outcomes) {
    const e = failedOnce();
    remember(e, outcome);
    assert.equal(e.prompt, plain.prompt);
    assert.deepEqual(e.names, UP_TO_SECOND);
  }
  const slow = failedOnce();
  const { cancelled } = slow.fire('iteration');
  assert.equal(cancelled.length, 1);
  assert.equal(slow.prompt, plain.prompt);
});

test('an output that is accepted after a failure is stored once under the id of its execution, then completes it', () => {
  const e = accepted();
  assert.deepEqual(e.names, UP_TO_ACCEPTED);
  const { kind, mode, input } = asked(e);
  assert.equal(kind, 'pattern.store');
  assert.equal(mode, 'repeatable');
  assert.equal(input?.once, EXECUTION_ID);
  assert.equal(input?.error_type, 'validation_failed');
  assert.match(String(input?.solution_approach), /^-seven$[\s\S]*^\+7$/m);
  assert.equal(input?.solution_code, '7');
  remember(e, { kind: 'done', value: { pattern_id: 'p', deduplicated: false, new_frequency: 1 } });
  assert.deepEqual(e.names, [...UP_TO_ACCEPTED, 'execution_completed']);
  assert.equal(e.payloads('execution_completed')[0]?.final_output, '7');
  assert.equal(e.view.status, 'completed');
  assert.equal(e.timers.size, 0);
});

test('a pattern that cannot be stored, or not in time, keeps no execution from completing', () => {
  for (const end of [(e: DrivenExecution) => remember(e, failed), (e: DrivenExecution) => e.fire('iteration')]) {
    const e = accepted();
    end(e);
    assert.equal(e.view.status, 'completed');
    assert.equal(e.payloads('execution_completed')[0]?.final_output, '7');
    assert.equal(e.view.status === 'completed' ? e.view.last_output : '', '7');
  }
});

test('an accepted first output sends no query to memory', () => {
  const e = new DrivenExecution();
  e.start(learning());
  e.answer('7');
  assert.equal(e.view.status, 'completed');
  assert.deepEqual(
    e.turns.flatMap((turn) => turn.effects.map(({ request }) => request.kind)),
    ['model.generate'],
  );
});

test('the last failed iteration sends no query to memory', () => {
  const e = new DrivenExecution();
  e.start(learning({ max_iterations: 1 }));
  e.answer('seven');
  assert.equal(e.view.status, 'failed');
  assert.deepEqual(e.names, [...UP_TO_FAILURE, 'execution_failed']);
});

test('the events of an execution are the same with and without memory', () => {
  const run = (memory: boolean): DrivenExecution => {
    const e = new DrivenExecution();
    e.start(manifestOf({ execution: { ...DIGITS, memory } }));
    for (const text of ['seven', 'eight', '9']) {
      e.answer(text);
      if (memory) remember(e, failed);
    }
    return e;
  };
  assert.deepEqual(run(true).events, run(false).events);
});

test('answers of memory that are late or repeated change nothing', () => {
  const e = failedOnce();
  const query = e.effectId;
  found(e, PATTERN);
  const state = JSON.stringify(e.state);
  remember(e, { kind: 'done', value: { patterns: [] } }, query);
  e.send('MemoryTimedOut', { effect_id: query }, 'timer');
  e.send('IterationTimedOut', { iteration: 1 }, 'timer');
  assert.equal(JSON.stringify(e.state), state);
});

test('while patterns are asked for a cancel ends the execution, and no iteration fails twice', () => {
  const e = failedOnce();
  const turn = e.send('Cancel', {});
  assert.equal(turn.cancelled.length, 1);
  assert.deepEqual(e.names, [...UP_TO_FAILURE, 'execution_failed']);
  assert.equal(e.view.status, 'cancelled');
  const late = failedOnce();
  late.send('IterationTimedOut', { iteration: 1 }, 'timer');
  late.fire('execution');
  assert.deepEqual(late.names, [...UP_TO_FAILURE, 'execution_failed']);
  assert.equal(late.payloads('execution_failed')[0]?.reason, 'timed_out');
});

test('a cancel while a pattern is stored is refused as too late, and the execution timeout completes the execution', () => {
  const e = accepted();
  const { reply } = e.send('Cancel', {});
  assert.equal(reply?.ok === false ? reply.code : '', 'failed_precondition');
  e.fire('execution');
  assert.equal(e.view.status, 'completed');
  assert.deepEqual(e.names, [...UP_TO_ACCEPTED, 'execution_completed']);
});

test('a failed program queries memory with the line that names its error', () => {
  const e = new DrivenExecution();
  e.start(programOf({ memory: true }));
  e.exit(1, '', { stderr: 'Traceback (most recent call last):\n  File "a.py", line 3\nValueError: invalid literal' });
  assert.deepEqual(asked(e).input?.error_signature, 'ValueError: invalid literal');
  found(e, PATTERN);
  assert.match(e.prompt, /answer with digits only/);
});

/** As the store has it. */
const recordOf = (e: DrivenExecution, version: number): string =>
  encodeRecord(version, {
    revision: 1,
    lastEvent: e.events.length,
    timers: {},
    effects: [],
    stuck: null,
    state: e.state,
  });
const BEFORE_MEMORY = 2;

test('a node of a version without learned patterns does not touch an execution that waits for them', () => {
  const text = recordOf(failedOnce(), execution.version);
  assert.throws(
    () => decodeRecord({ ...execution, version: BEFORE_MEMORY }, text),
    (thrown) => thrown instanceof SvcError && thrown.code === 'unavailable',
  );
});

test('a state that an older version wrote is read as one without memory', () => {
  const e = new DrivenExecution();
  e.start(manifestOf({ execution: DIGITS }));
  assert.doesNotMatch(JSON.stringify(e.state), /memory|hints/);
  assert.deepEqual(decodeRecord(execution, recordOf(e, BEFORE_MEMORY)).state, e.state);
  e.answer('seven');
  e.answer('7');
  assert.equal(e.view.status, 'completed');
  assert.doesNotMatch(JSON.stringify(e.state), /memory|hints/);
});
