import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json, JsonObject } from '../../../runtime/json.ts';
import { DrivenExecution, manifestOf } from './driven-execution.ts';

const AT = '2026-01-01T00:00:00.000Z';

/** A run that a registered worker outside of the fleet does. */
class Forwarded extends DrivenExecution {
  readonly #said = new Map<string, number>();

  static begin(annotations: Record<string, string> = {}): Forwarded {
    const driven = new Forwarded();
    driven.start(manifestOf({ runtime: { isolation: 'firecracker' } }, annotations), { forward: { tags: ['gpu'] } });
    return driven;
  }

  /** Events of a worker, behind those it sent before. */
  says(node_id: string, ...events: readonly (readonly [name: string, payload: JsonObject])[]): void {
    for (const [name, payload] of events) {
      const index = this.#said.get(node_id) ?? 0;
      this.#said.set(node_id, index + 1);
      const value = { node_id, index, name, payload: { execution_id: 'theirs', ...payload } };
      this.send('WorkerSaid', { effectId: this.effectId, attempt: 1, value }, 'effect');
    }
  }

  /** The worker sends its stream again from the first event. */
  forgetSaid(node_id: string): void {
    this.#said.delete(node_id);
  }

  ends(outcome: Json): void {
    const result = { effectId: this.effectId, kind: 'execution.forward', attempt: 1, outcome };
    this.send('WorkerEnded', result, 'effect');
  }

  lost(node_id: string): void {
    this.ends({ kind: 'done', value: { lost: { node_id, message: 'its stream broke' } } });
  }
}

const started = ['execution_started', { agent_id: 'theirs', started_at: AT }] as const;
const begins = (number: number) =>
  ['iteration_started', { iteration_number: number, action: 'generate', started_at: AT }] as const;
const prints = (number: number, output: string) => ['iteration_output', { iteration_number: number, output }] as const;
const completes = (number: number, output: string) =>
  ['iteration_completed', { iteration_number: number, output, completed_at: AT }] as const;
const fails = (number: number) =>
  [
    'iteration_failed',
    { iteration_number: number, error: { error_type: 'validation_failed', message: 'no' }, failed_at: AT },
  ] as const;
const done = (total: number, output: string) =>
  ['execution_completed', { final_output: output, total_iterations: total, completed_at: AT }] as const;

describe('a run that a worker outside of the fleet does', () => {
  test('asks for a worker with its tags, whatever isolation this node lacks', () => {
    const { request } = Forwarded.begin().effects.values().next().value ?? assert.fail();
    assert.equal(request.kind, 'execution.forward');
    assert.equal(request.mode, 'once');
    const { tags, input, execution_id, agent_id } = request.input;
    assert.deepEqual({ tags, input }, { tags: ['gpu'], input: 'the text' });
    assert.ok(execution_id !== undefined && agent_id !== undefined);
  });

  test('a forwarded run has the events of the worker under its own ids, and ends as the worker reports', () => {
    const driven = Forwarded.begin();
    driven.says(
      'w1',
      started,
      begins(1),
      prints(1, 'hi'),
      fails(1),
      begins(2),
      completes(2, 'hi there'),
      done(2, 'hi there'),
    );
    assert.deepEqual(driven.names, [
      'execution_started',
      'iteration_started',
      'iteration_output',
      'iteration_failed',
      'iteration_started',
      'iteration_completed',
      'execution_completed',
    ]);
    assert.ok(driven.events.every(({ payload }) => !JSON.stringify(payload).includes('theirs')));
    assert.equal(driven.view.status, 'completed');
    assert.equal('last_output' in driven.view && driven.view.last_output, 'hi there');
    assert.equal(driven.effects.size, 0, 'nothing is waited for any more');
  });

  test('a worker that reconnects sends its stream again, and no event is recorded twice', () => {
    const driven = Forwarded.begin();
    driven.says('w1', started, begins(1), prints(1, 'hi'));
    driven.lost('w1');
    assert.equal(driven.view.status === 'running' && driven.view.in_doubt, 1);
    driven.forgetSaid('w1');
    driven.says(
      'w1',
      started,
      begins(1),
      prints(1, 'hi'),
      prints(1, ' there'),
      completes(1, 'hi there'),
      done(1, 'hi there'),
    );
    assert.deepEqual(driven.streamed, ['hi', ' there']);
    assert.deepEqual(
      driven.payloads('iteration_started').map(({ iteration_number }) => iteration_number),
      [1],
    );
    assert.equal(driven.view.status, 'completed');
  });

  test('another worker begins again: open calls end in doubt, and its iterations are numbered after the earlier ones', () => {
    const driven = Forwarded.begin();
    driven.says('w1', started, begins(1), fails(1), begins(2), prints(2, 'lost'));
    driven.lost('w1');
    driven.says('w2', started, begins(1), completes(1, 'other'), done(1, 'other'));
    assert.deepEqual(
      driven.payloads('iteration_started').map(({ iteration_number }) => iteration_number),
      [1, 2, 3],
    );
    const [, doubted] = driven.payloads('iteration_failed');
    assert.deepEqual(doubted?.error, { error_type: 'in_doubt', message: 'worker w1 was lost' });
    assert.equal(driven.payloads('execution_completed')[0]?.total_iterations, 3);
  });

  test('a lost worker fails the run when the agent says so', () => {
    const driven = Forwarded.begin({ 'svc.dev/on-in-doubt': 'fail' });
    driven.says('w1', started, begins(1));
    driven.lost('w1');
    const [end] = driven.payloads('execution_failed');
    assert.equal(end?.reason, 'in_doubt');
    assert.equal(end?.message, 'worker w1 was lost: its stream broke');
  });

  test('a controller that died while it followed the worker counts as a lost one', () => {
    const driven = Forwarded.begin();
    const before = driven.effectId;
    driven.ends({ kind: 'in_doubt' });
    assert.equal(driven.view.status, 'running');
    assert.notEqual(driven.effectId, before, 'another worker is asked for');
  });

  test('a request that a worker refuses fails the run with the code of the refusal, without an open iteration', () => {
    const driven = Forwarded.begin();
    driven.ends({ kind: 'failed', code: 'unsupported_isolation', message: 'no firecracker' });
    assert.deepEqual(driven.names, ['execution_started', 'execution_failed']);
    const [end] = driven.payloads('execution_failed');
    assert.deepEqual([end?.reason, end?.message], ['unsupported_isolation', 'no firecracker']);
  });

  test('a failed run has the reason and the cause that the worker gave', () => {
    const driven = Forwarded.begin();
    driven.says('w1', started, begins(1), fails(1), [
      'execution_failed',
      { reason: 'max_iterations_exceeded', total_iterations: 1, failed_at: AT },
    ]);
    const [end] = driven.payloads('execution_failed');
    assert.equal(end?.message, 'none of 1 iterations was accepted; the last one: validation_failed: no');
  });

  test('events that break the order, or are none, change nothing', () => {
    const driven = Forwarded.begin();
    driven.says('w1', prints(1, 'early'), completes(1, 'early'), ['made_up', {}], ['iteration_started', {}], begins(1));
    driven.says('w1', begins(2), done(1, 'while one is open'));
    assert.deepEqual(driven.names, ['execution_started', 'iteration_started']);
  });

  test('a cancel ends it, and later events of the worker change nothing', () => {
    const driven = Forwarded.begin();
    driven.says('w1', started, begins(1));
    const effect = driven.effectId;
    assert.deepEqual(driven.send('Cancel', {}).cancelled, [effect]);
    const { length } = driven.names;
    const value = { node_id: 'w1', index: 5, name: 'iteration_output', payload: { iteration_number: 1, output: 'x' } };
    driven.send('WorkerSaid', { effectId: effect, attempt: 1, value }, 'effect');
    assert.equal(driven.names.length, length);
    assert.equal(driven.view.status, 'cancelled');
  });
});
