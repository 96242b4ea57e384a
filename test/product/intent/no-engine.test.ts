import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { IntentNode, writes } from './intent-node.ts';

const ENGINES = ['/var/run/docker.sock', '/run/podman/podman.sock'];
const skip = ENGINES.some((socket) => existsSync(socket)) ? 'this machine has a container engine' : false;

test('without a container engine the pipeline fails where it needs one, and names the reason', { skip }, async () => {
  await using setup = await IntentNode.start([writes('anything', 'echo hello')], {
    options: { spec: { runtime: {} } },
  });
  const ended = await setup.reach('anything');
  assert.ok(ended.status === 'failed');
  assert.equal(ended.failed_at_state, 'VALIDATE_CODE');
  assert.match(ended.reason, /^unsupported_isolation: .*no container engine/);
});
