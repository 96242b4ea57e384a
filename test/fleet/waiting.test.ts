import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { parseAgentManifest } from '../../manifests/agent/parse.ts';
import { partitionsOf } from '../../runtime/address.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type FleetKernels, type FleetNode, openFleetKernels } from './fleet-kernels.ts';

const missing = serversMissing();
const identity: Identity = { kind: 'local', subject: 'me', tenant: SYSTEM_TENANT, roles: ['svc:admin'], tier: 'free' };

function manifestFor(...tags: string[]) {
  const parsed = parseAgentManifest(`apiVersion: svc.dev/v1
kind: Agent
metadata: { name: tagged, version: 1.0.0 }
spec:
  task: { prompt_template: '{{input}}' }
  execution: { target_tags: [${tags.join(', ')}] }
`);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

function start(node: FleetNode, tags: readonly string[], here = false) {
  const executionId = randomUUID();
  const where = here ? { here } : {};
  const request = { executionId, agentId: randomUUID(), manifest: manifestFor(...tags), input: 'go', identity };
  return node.executions.start({ ...request, ...where });
}

/** Directory entries of all homes. */
async function entries({ stores }: FleetNode): Promise<number> {
  const homes = partitionsOf({ pool: 'default', partitions: 32 });
  const pages = await Promise.all(homes.map((home) => stores.store.placed(home, null)));
  return pages.reduce((sum, page) => sum + page.entries.length, 0);
}

const statusIs = (node: FleetNode, id: string, status: string) => async () =>
  (await node.executions.status(SYSTEM_TENANT, id)).status === status;

describe('executions that need tags', { skip: missing || false }, () => {
  let kernels: FleetKernels;
  before(async () => {
    kernels = await openFleetKernels();
  });
  after(() => kernels[Symbol.asyncDispose]());

  test('an execution whose tags no node has is accepted and listed with the reason why it waits; a node with the tags runs it', async () => {
    const plain = await kernels.node('wait-plain');
    const { execution_id: id, waiting_for } = await start(plain, ['gpu', 'a100']);
    assert.deepEqual(waiting_for, {
      kind: 'node',
      tags: ['gpu', 'a100'],
      reason: 'waiting for a node with tags gpu, a100',
    });
    const waiting = await plain.executions.status(SYSTEM_TENANT, id);
    assert.deepEqual([waiting.status, waiting.waiting_for], ['pending', waiting_for]);
    const [listed] = (await plain.executions.list(SYSTEM_TENANT, { limit: 1 })).items;
    assert.deepEqual([listed?.execution_id, listed?.waiting_for], [id, waiting_for]);
    const { pools } = await plain.placement.view();
    assert.deepEqual(pools.find(({ pool }) => pool === '+a100+gpu')?.waiting_for?.tags, ['a100', 'gpu']);
    const gpu = await kernels.node('wait-gpu', { tags: ['a100', 'gpu'] });
    await waitUntil('it has run', statusIs(plain, id, 'completed'));
    const events = await plain.executions.events(SYSTEM_TENANT, id, 0, 10);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, at) => at + 1),
    );
    await waitUntil('the list has the reason too', async () => {
      const [now] = (await plain.executions.list(SYSTEM_TENANT, { limit: 1 })).items;
      return now?.status === 'completed' && now.waiting_for === undefined;
    });
    await Promise.all([plain.stop(), gpu.stop()]);
  });

  test('an execution that was cancelled while it waited says so, frees its place at once, and ends cancelled without a model call', async () => {
    const plain = await kernels.node('cancel-plain');
    const { execution_id: id } = await start(plain, ['tpu']);
    const isOver = () => plain.executions.hasEnded(SYSTEM_TENANT, id, { orIsCancelled: true });
    assert.equal(await isOver(), false);
    // A repeat is answered like the first.
    for (const _ of [1, 2]) await plain.executions.cancel(SYSTEM_TENANT, id);
    const { status, waiting_for } = await plain.executions.status(SYSTEM_TENANT, id);
    const reason = 'waiting for a node with tags tpu, which will end it without work: its cancel is stored';
    assert.deepEqual([status, waiting_for], ['pending', { kind: 'node', tags: ['tpu'], reason }]);
    const [listed] = (await plain.executions.list(SYSTEM_TENANT, { limit: 1 })).items;
    assert.deepEqual([listed?.execution_id, listed?.waiting_for?.reason], [id, reason]);
    assert.deepEqual([await isOver(), await plain.executions.hasEnded(SYSTEM_TENANT, id)], [true, false]);
    const tpu = await kernels.node('cancel-tpu', { tags: ['tpu'] });
    await waitUntil('it has ended', statusIs(plain, id, 'cancelled'));
    await Promise.all([plain.stop(), tpu.stop()]);
  });

  test('an execution started here runs in a partition of this node, and its directory entry is removed when it is archived', async () => {
    const [a, b] = [await kernels.node('fwd-a'), await kernels.node('fwd-b')];
    await waitUntil('both serve', () => [a, b].every(({ runtime }) => runtime.held().length > 0));
    const ids: Awaited<ReturnType<typeof start>>[] = [];
    // The home is random, and the first may have ended before the read.
    await waitUntil('some are placed away from home', async () => {
      ids.push(...(await Promise.all(Array.from({ length: 8 }, () => start(b, [], true)))));
      return (await entries(a)) > 0;
    });
    for (const { execution_id: id } of ids) await waitUntil('it has run', statusIs(a, id, 'completed'));
    await waitUntil('no entry is left', async () => (await entries(a)) === 0);
    for (const { execution_id: id } of ids)
      assert.ok(await statusIs(a, id, 'completed')(), 'it is found in the archive');
    await Promise.all([a.stop(), b.stop()]);
  });
});
