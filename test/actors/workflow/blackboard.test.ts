import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../actors/workflow/limits.ts';
import type { WorkflowManifest } from '../../../manifests/workflow/schema.ts';
import { processorMs } from '../../support/processor-time.ts';
import { DrivenWorkflow, manifestOf, pure } from './driven-workflow.ts';

const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));

test('more keys than a blackboard may have are refused at the start', () => {
  const run = new DrivenWorkflow();
  const { reply } = run.start(manifestOf({ A: pure('x') }), { blackboard: pairs(LIMITS.blackboardKeys + 1) });
  assert.equal(reply?.ok === false && reply.code, 'payload_too_large');
  assert.equal(run.status, 'pending');
});

test('a state that would write a key over the limit fails; a key that exists may be written again', () => {
  const run = new DrivenWorkflow();
  const again = { kind: 'System', command: 'update_blackboard', env: { k0: 'again' }, transitions: [{ target: 'B' }] };
  // A's own output is the last key there is room for.
  run.start(manifestOf({ A: again, B: pure('x') }), { blackboard: pairs(LIMITS.blackboardKeys - 1) });
  assert.deepEqual(run.path, ['A', 'B']);
  assert.equal(run.blackboard.k0, 'again');
  assert.equal(run.status, 'completed', 'a state without transitions completes the run');
  const [, exited] = run.payloads('WorkflowStateExited');
  assert.equal(exited?.status, 'failed');
  assert.equal(run.blackboard.ran, undefined);
});

test('a key with the name of a setter is an entry like any other', () => {
  const run = new DrivenWorkflow();
  // Manifests refuse the name today; one that was stored before may have it.
  const text = JSON.stringify(manifestOf({ A: pure('x') })).replace('"ran":"x"', '"__proto__":{"a":1}');
  const manifest: WorkflowManifest = JSON.parse(text);
  run.start(manifest);
  assert.equal(run.status, 'completed');
  assert.deepEqual(Object.keys(run.blackboard), ['__proto__', 'A']);
  assert.equal(Object.getPrototypeOf(run.blackboard), Object.prototype);
});

test('a chain of 1,000 states over 10,000 keys copies them once a turn', () => {
  const states = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, n) => [`S${n}`, pure(String(n), n < 999 ? [{ target: `S${n + 1}` }] : [])]),
  );
  const manifest = manifestOf(states);
  const took = [1, 2, 3].map(() => {
    const run = new DrivenWorkflow();
    const tookMs = processorMs(() => run.start(manifest, { blackboard: pairs(8_000) }));
    assert.equal(run.path.length, LIMITS.statesPerTurn);
    return tookMs;
  });
  // With a copy for each of its 100 writes a turn took more than half a second. States are frozen by the driver, so
  // writing in place would throw.
  assert.ok(Math.min(...took) < 400, `${took.join(', ')} ms`);
});
