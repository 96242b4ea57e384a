import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DrivenExecution, programOf } from './driven-execution.ts';

const PARENT = '7a7e2f0e-6a0b-4d5a-9a64-3f2b2c8f1d10';

test('volumes of the manifest reach a program as those of a state do', () => {
  const driven = new DrivenExecution();
  const scratch = { volume_id: 'v1', mount_path: '/workspace/scratch', read_only: false };
  driven.start(programOf(), { mounts: [{ ...scratch, of_manifest: true }] });
  assert.deepEqual(driven.effects.get(driven.effectId)?.request.input.mounts, [scratch]);
});

test('a program gets the volumes of its state in every iteration, the implicit workspace is made when it is missing', () => {
  const driven = new DrivenExecution();
  const shared = { volume_id: 'v1', mount_path: '/workspace/data', read_only: true };
  const own = { volume_id: PARENT, mount_path: '/workspace', read_only: false };
  driven.start(programOf({ max_iterations: 2 }), { workflow_execution_id: PARENT, mounts: [shared, own] });
  const mounts = () => driven.effects.get(driven.effectId)?.request.input.mounts;
  assert.deepEqual(mounts(), [shared, { ...own, create: true }]);
  const first = driven.effectId;
  driven.exit(1, 'not yet');
  assert.notEqual(driven.effectId, first);
  assert.deepEqual(mounts(), [shared, { ...own, create: true }]);
});
