import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, objectOf } from '../product-node.ts';
import { SealNode } from '../seal/seal-node.ts';

const WAIT_SECONDS = 12;
/** Time of the kill after the begin of the wait. */
const KILLED_AFTER_MS = 8_000;
/** Limit for the answer; a wait that began again would take at least 8 s longer. */
const SPARE_MS = 7_500;

describe('a wait whose node dies', () => {
  test(`a wait of ${WAIT_SECONDS} s ends after ${WAIT_SECONDS} s although the node was killed meanwhile`, async () => {
    const security_contexts = [{ name: 'waiting', capabilities: [{ tool_pattern: 'svc.task.wait' }] }];
    await using at = await SealNode.start({ spec: { security_contexts } });
    const agent = agentYaml('waiter', { security_context: 'waiting', tools: ['svc.task.wait'] });
    const agent_id = await at.node.deploy(agent);
    const execution_id = await at.node.run(agent_id, 'wait');
    await at.running(execution_id);
    const waiter = await at.attested({ agent_id, execution_id, container_id: execution_id }, at.rest());
    // The execution that is waited for runs for longer than the test.
    const ask = () =>
      at.rest().invoke(waiter.call(1, 'svc.task.wait', { execution_id, timeout_seconds: WAIT_SECONDS }));
    const askedAt = performance.now();
    const unanswered = assert.rejects(ask());
    const later = async () => performance.now() - askedAt > KILLED_AFTER_MS;
    await waitUntil('the wait is under way for long', later, 2 * KILLED_AFTER_MS);
    await at.node.process.kill();
    await unanswered;
    await at.node.spawn();
    // A start may take long beside other work; a wait that began again would begin here.
    const upMs = performance.now() - askedAt;
    const { result, text } = await ask();
    const tookMs = performance.now() - askedAt;
    assert.equal(objectOf(JSON.stringify(result?.structured)).status, 'timed_out', text);
    assert.ok(tookMs >= WAIT_SECONDS * 1_000, `${tookMs} ms`);
    assert.ok(tookMs < Math.max(WAIT_SECONDS * 1_000, upMs) + SPARE_MS, `${tookMs} ms`);
  });
});
