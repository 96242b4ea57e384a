import type { Documents } from '../runtime/documents.ts';
import { VERSION } from '../runtime/store-formats.ts';
import type { AuditReader, OperationAudit } from '../security/api.ts';
import { BLOCKS, type Block } from '../security/audit/blocks.ts';
import { ChainedAudit } from '../security/audit/operation-audit.ts';
import { chainsOf, listEntries, recordsBehind } from '../security/audit/reader.ts';
import { CHAINS, type ChainDocument, Statements } from '../security/audit/statements.ts';
import type { Signing } from './fleet.ts';
import type { NodeWorld } from './world.ts';

/** How long a stop waits for the last entries. */
const CLOSE_WAIT_MS = 3_000;

export interface Audit {
  readonly operations: OperationAudit;
  readonly reader: AuditReader;
  close(): Promise<void>;
}

/** Opens the audit of operations (`spec.audit`): the chains of this node, statements, and reading those of all nodes. */
export async function openAudit({
  world,
  documents,
  signing,
}: {
  readonly world: NodeWorld;
  readonly documents: Documents;
  readonly signing: Signing;
}): Promise<Audit> {
  const { settings, node, clock, warn } = world;
  const blocks = await documents.collection<Block>(BLOCKS);
  const chains = await documents.collection<ChainDocument>(CHAINS);
  const isFleet = settings.stores.redis !== undefined;
  const statements = new Statements({
    node,
    chains,
    blocks,
    signing,
    clock,
    warn,
    isFleet,
    ends: () => operations.ends(),
  });
  const operations = new ChainedAudit({
    node,
    version: VERSION,
    blocks,
    clock,
    warn,
    failClosed: settings.audit.fail_closed,
    onOpened: (tenant) => void statements.opened(tenant),
    onWritten: () => statements.wrote(),
  });
  return {
    operations,
    reader: {
      list: (tenant, filter, page) => listEntries(blocks, tenant, filter, page),
      records: (tenant, of, after, limit) => recordsBehind(blocks, { tenant, node: of, after, limit }),
      chains: (tenant) => chainsOf({ blocks, chains, statements }, tenant),
    },
    async close() {
      await operations.close('the node stops', CLOSE_WAIT_MS);
      await statements.close();
    },
  };
}
