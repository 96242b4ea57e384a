import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportText } from '../chaos/report.ts';
import { smallWorkflows, workflowsUnderKills } from '../chaos/workflows-under-kills.ts';
import { NEEDS_PODMAN } from '../support/podman.ts';
import { someOf } from '../support/size.ts';
import { seedOf } from './random.ts';
import { storesMissing } from './stores.ts';

const skip = NEEDS_PODMAN.skip ?? storesMissing('redis');
const title =
  'a workflow whose node is killed at any moment ends as an unkilled one: same blackboard, nothing left behind, no step silently repeated';

test(title, { skip, timeout: 300_000 }, async (context) => {
  const options = smallWorkflows(seedOf(process.env));
  const report = await workflowsUnderKills(options, (examples) => someOf(examples, 8));
  context.diagnostic(reportText(report));
  assert.deepEqual(report.broken, []);
});
