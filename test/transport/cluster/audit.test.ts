import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditOf, auditStore, entriesOf } from '../../security/audit/audit-store.ts';
import { IndependentWorker } from './independent-worker.ts';
import { fleetNode } from './node.ts';
import { PageClient } from './page.ts';

test('a node that joins, leaves and is refused leaves entries with its name, and its heartbeats leave none', async () => {
  await using store = await auditStore();
  const { audit } = auditOf(store.blocks);
  await using at = await fleetNode({ operationAudit: audit });
  const client = new PageClient(at.address);
  const worker = new IndependentWorker('worker-7', client);
  await worker.join();
  assert.equal((await worker.heartbeat()).code, 'OK');
  assert.equal((await worker.call('DeregisterNode', {})).code, 'OK');
  assert.equal((await worker.call('PushConfig', { config_yaml: 'x', config_hash: 'y' })).code, 'PERMISSION_DENIED');
  worker.token = 'no-token';
  assert.equal((await worker.heartbeat()).code, 'UNAUTHENTICATED');
  client.close();
  await audit.close('the test ends', 5_000);
  const entries = await entriesOf(store.blocks);
  assert.deepEqual(
    entries.map(({ operation, subject, target, outcome, via }) => [operation, subject, target, outcome, via]),
    [
      ['nodes.attest', null, 'worker-7', 'ok', 'node'],
      ['nodes.register', 'node:worker-7', null, 'ok', 'node'],
      ['nodes.deregister', 'node:worker-7', null, 'ok', 'node'],
      ['cluster.apply_config', 'node:worker-7', null, 'denied', 'node'],
      ['Heartbeat', null, null, 'denied', 'node'],
    ],
  );
});
