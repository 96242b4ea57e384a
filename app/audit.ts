import type { AuditSinkSettings } from '../manifests/node/audit.ts';
import type { Documents } from '../runtime/documents.ts';
import { VERSION } from '../runtime/store-formats.ts';
import type { AuditReader, Occurrence, OperationAudit } from '../security/api.ts';
import { BLOCKS, type Block } from '../security/audit/blocks.ts';
import { ChainedAudit } from '../security/audit/operation-audit.ts';
import { chainsOf, listEntries, recordsBehind } from '../security/audit/reader.ts';
import { AuditRetention, CHECKPOINTS, type CheckpointDocument } from '../security/audit/retention.ts';
import { type AuditSink, SinkQueue } from '../security/audit/sink-queue.ts';
import { FileSink, HttpSink, SyslogSink } from '../security/audit/sinks.ts';
import { CHAINS, type ChainDocument, Statements } from '../security/audit/statements.ts';
import type { Signing } from './fleet.ts';
import type { NodeContext } from './node-context.ts';

/** How long a stop waits for the audit: first for the last entries, then for sending and signing them. */
const CLOSE_WAIT_MS = 3_000;

const ENTRIES_WAIT_MS = 2_000;

export interface Audit {
  readonly operations: OperationAudit;
  readonly reader: AuditReader;
  /** Records an event that is no call, such as a storage event. */
  occurred(occurrence: Occurrence): void;
  close(): Promise<void>;
}

/** Opens the audit of operations (`spec.audit`): the chains of this node, statements, and reading those of all nodes. */
export async function openAudit({
  context,
  documents,
  now,
  signing,
}: {
  readonly context: NodeContext;
  readonly documents: Documents;
  /** The time of the store, by which ages are counted. */
  readonly now: () => Promise<number>;
  readonly signing: Signing;
}): Promise<Audit> {
  const { settings, node, clock, warn } = context;
  const blocks = await documents.collection<Block>(BLOCKS);
  const chains = await documents.collection<ChainDocument>(CHAINS);
  const checkpoints = await documents.collection<CheckpointDocument>(CHECKPOINTS);
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
  const { fail_closed, retention_days: days, sink: sinkSettings } = settings.audit;
  const retention =
    days === -1 ? null : new AuditRetention({ days, blocks, chains, checkpoints, signing, clock, now, warn });
  const sink = sinkSettings === undefined ? null : openSink(context, sinkSettings);
  const operations = new ChainedAudit({
    node,
    version: VERSION,
    blocks,
    clock,
    warn,
    failClosed: fail_closed,
    onOpened: (tenant) => void statements.opened(tenant),
    isStated: (tenant, end) => statements.hasStated(tenant, end),
    onWritten(tenant, records) {
      statements.wrote();
      sink?.add(tenant, records);
    },
    sinkTakes: sink?.takes,
  });
  return {
    operations,
    occurred: (occurrence) => operations.occurred(occurrence),
    reader: {
      list: (tenant, filter, page) => listEntries(blocks, tenant, filter, page),
      records: (tenant, of, after, limit) => recordsBehind(blocks, { tenant, node: of, after, limit }),
      chains: (tenant) => chainsOf({ blocks, chains, checkpoints, statements }, tenant),
    },
    async close() {
      retention?.close();
      const begun = clock.monotonic();
      await operations.close('the node stops', ENTRIES_WAIT_MS);
      const leftMs = Math.max(0, CLOSE_WAIT_MS - (clock.monotonic() - begun));
      await Promise.all([sink?.close(leftMs), statements.close(leftMs)]);
    },
  };
}

/** The queue in front of the sink of `spec.audit.sink`. */
function openSink({ node, clock, warn, resolveSecret }: NodeContext, settings: AuditSinkSettings): SinkQueue {
  return new SinkQueue({ node, clock, warn, sink: sinkOf(settings, node, resolveSecret) });
}

function sinkOf(settings: AuditSinkSettings, node: string, resolve: NodeContext['resolveSecret']): AuditSink {
  switch (settings.kind) {
    case 'file':
      return new FileSink(settings);
    case 'syslog':
      return new SyslogSink(settings, node);
    case 'http': {
      const { token } = settings;
      return new HttpSink(settings, token === undefined ? null : () => resolve(token));
    }
  }
}
