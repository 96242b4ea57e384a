import { randomUUID } from 'node:crypto';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { Documents } from '../../runtime/documents.ts';
import type { Identity } from '../../runtime/identity.ts';
import { Archive } from '../../runtime/projection/archive.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { oneShotAgent } from '../one-shot-agent.ts';
import type { ListingNode } from './node.ts';

/** Archives an ended execution with as many events as wanted, by repeating its own events. */
export async function longExecution(
  node: ListingNode,
  documents: Documents,
  tenant: string,
  count: number,
): Promise<string> {
  const executionId = randomUUID();
  const identity: Identity = { kind: 'local', subject: 'bench', tenant, roles: [], tier: 'enterprise' };
  await node.executions.start({ executionId, agentId: randomUUID(), manifest: oneShotAgent(), input: 'go', identity });
  const address = addressOf('execution', tenant, executionId);
  const archived = async () => (await node.client.read(address))?.archived === true;
  await waitUntil('the execution to be archived', archived, 60_000);
  await lengthen(documents, address, count);
  return executionId;
}

async function lengthen(documents: Documents, address: Address, count: number): Promise<void> {
  const archive = await Archive.open(documents);
  const record = await archive.loadRecord(address);
  const recorded = await archive.readEvents(address, 0, 100);
  if (record === null || recorded.length === 0) throw new Error('the execution is not in the archive');
  const wire: { r: number; e: number } = JSON.parse(record);
  const events = {
    readEvents: async (_partition: string, _address: Address, after: number, limit: number) =>
      Array.from({ length: Math.min(limit, count - after) }, (_, at) => ({
        seq: after + at + 1,
        data: recorded[(after + at) % recorded.length]?.data ?? '',
      })),
  };
  const revision = wire.r + 1;
  const longer = JSON.stringify({ ...wire, r: revision, e: count });
  const retained = { retainedAs: 'runs', endedAt: Date.now(), bytes: longer.length, parent: null, viewId: '' };
  await archive.store(events, [
    { partition: 'default:0', address, record: longer, revision, lastEvent: count, ...retained },
  ]);
}
