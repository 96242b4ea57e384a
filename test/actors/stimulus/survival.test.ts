import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Identity } from '../../../runtime/identity.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AREA_KERNELS } from '../../transport/rest/area-kernel.ts';
import { stimulusNode } from './stimulus-node.ts';

const identity: Identity = { kind: 'tenant_user', subject: 'a', tenant: 'alice', roles: [], tier: 'free' };
const answer = JSON.stringify({ workflow: 'deploy', confidence: 1, reasoning: '' });

for (const { name, missing, start } of AREA_KERNELS) {
  describe(`a stimulus outlives its node, ${name}`, { skip: missing ?? false }, () => {
    let node: Awaited<ReturnType<typeof stimulusNode>>;
    before(async () => {
      node = await stimulusNode({ start, settings: { router_agent: 'router' } });
    });
    after(() => node.stop());

    test('a stimulus whose node dies while the router agent runs receives the answer and starts its workflow once', async () => {
      const request = { source: 'mail', content: 'x', headers: {}, idempotencyKey: 'k', identity };
      const call = node.stimuli.ingest(request);
      const router = await waitUntil('the router is asked', () => node.asked[0]);
      const { runtime } = node.kernel;
      assert.equal(await runtime.dropActor(router.notify.to), true);
      await node.say(router, answer);
      const { stimulus_id, workflow_execution_id } = await call;
      assert.deepEqual(
        node.started.map(({ execution_id }) => execution_id),
        [workflow_execution_id],
      );
      await runtime.dropActor(router.notify.to);
      await assert.rejects(node.stimuli.ingest(request), {
        code: 'idempotent_duplicate',
        details: [
          { path: 'original_stimulus_id', message: stimulus_id },
          { path: 'workflow_execution_id', message: workflow_execution_id },
        ],
      });
    });

    test('a stimulus whose node dies while its workflow starts repeats the start and finds the same execution', async () => {
      await node.routes.put(identity, 'slow', 'deploy');
      const held = Promise.withResolvers<void>();
      node.hold.start = held.promise;
      const call = node.stimuli.ingest({ source: 'slow', content: 'slow', headers: {}, identity });
      const first = await waitUntil('its start is under way', () =>
        node.attempts.find(({ input }) => input.intent === 'slow'),
      );
      await node.kernel.runtime.dropActor(first.address);
      held.resolve();
      const { workflow_execution_id } = await call;
      assert.equal(first.input.execution_id, workflow_execution_id);
      assert.equal(node.started.filter(({ intent }) => intent === 'slow').length, 1);
    });
  });
}
