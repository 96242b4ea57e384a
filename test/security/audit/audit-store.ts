import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EntryBody, OperationEntry } from '../../../manifests/audit/entries.ts';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import type { Collection, Documents } from '../../../runtime/documents.ts';
import { SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import type { AuditedCall } from '../../../security/audit/api.ts';
import { BLOCKS, type Block } from '../../../security/audit/blocks.ts';
import { ChainedAudit, type OperationAuditParts } from '../../../security/audit/operation-audit.ts';

export const callOf = (operation: string, more: Partial<AuditedCall> = {}): AuditedCall => ({
  operation,
  caller: { kind: 'tenant_user', subject: 'ada', tenant: 'acme', roles: ['svc:admin'] },
  target: null,
  trace: '0'.repeat(32),
  via: 'rest',
  address: '127.0.0.1',
  ...more,
});

export interface AuditStore extends AsyncDisposable {
  readonly documents: Documents;
  readonly blocks: Collection<Block>;
}

/** Documents in a directory of their own. */
export async function auditStore(): Promise<AuditStore> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-audit-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  return {
    documents,
    blocks: await documents.collection<Block>(BLOCKS),
    async [Symbol.asyncDispose]() {
      await documents.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface NodeAudit {
  readonly audit: ChainedAudit;
  readonly warned: string[];
}

/** The audit that a node writes over these blocks. */
export function auditOf(
  blocks: Collection<Block>,
  { clock = systemClock, node = 'node-1', ...more }: Partial<OperationAuditParts> & { readonly clock?: Clock } = {},
): NodeAudit {
  const warned: string[] = [];
  const audit = new ChainedAudit({
    node,
    version: '0.0.1',
    blocks,
    clock,
    warn: (message) => void warned.push(message),
    failClosed: false,
    ...more,
  });
  return { audit, warned };
}

export async function bodiesOf(blocks: Collection<Block>, tenant = 'acme', node = 'node-1'): Promise<EntryBody[]> {
  const found = await blocks.find({ tenant, where: { node }, sort: [['last', 'asc']], limit: 1_000 });
  return found.flatMap(({ records }) => records.map(({ body }) => body));
}

/** The entries of operations in a tenant, in order. */
export async function entriesOf(blocks: Collection<Block>, tenant = SYSTEM_TENANT): Promise<OperationEntry[]> {
  return (await bodiesOf(blocks, tenant)).flatMap((body) => (body.kind === 'operation' ? [body] : []));
}
