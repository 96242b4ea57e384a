import type { EntryBody, EntryRecord, OperationEntry } from '../../manifests/audit/entries.ts';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';

/**
 * Records of one chain that were written together. A document is written whole or not at all, and its id can be inserted only
 * once: after a crash no record is missing between two others, and two writers of one chain cannot write the same sequence.
 */
export interface Block extends StoredDocument {
  readonly node: string;
  /** Id of the process that wrote it. */
  readonly writer: string;
  /** Sequences of the first and the last record. */
  readonly first: number;
  readonly last: number;
  /** ISO time of the last record. */
  readonly at: string;
  /** Values that all entries of the block share, for lists with conditions; null when they differ. */
  readonly subject: string | null;
  readonly operation: string | null;
  readonly outcome: string | null;
  readonly records: readonly EntryRecord[];
}

export const BLOCKS: CollectionSpec = {
  name: 'audit_operations',
  unique: [['node', 'first']],
  indexes: [['at'], ['subject', 'at'], ['operation', 'at'], ['outcome', 'at'], ['node', 'last']],
};

/** Widest sequence in an id, so that ids sort as sequences do. */
const DIGITS = 12;

const blockId = (node: string, first: number): string => `${node}.${String(first).padStart(DIGITS, '0')}`;

export function blockOf(
  { tenant, node, writer }: Pick<Block, 'tenant' | 'node' | 'writer'>,
  records: readonly EntryRecord[],
): Block {
  const [first] = records;
  const last = records.at(-1);
  if (first === undefined || last === undefined) throw new RangeError('a block has at least one record');
  const entries = records.flatMap(({ body }) => (body.kind === 'operation' ? [body] : []));
  return {
    tenant,
    id: blockId(node, first.sequence),
    version: 1,
    node,
    writer,
    first: first.sequence,
    last: last.sequence,
    at: last.at,
    subject: shared(entries, ({ subject }) => subject),
    operation: shared(entries, ({ operation }) => operation),
    outcome: shared(entries, ({ outcome }) => outcome),
    records,
  };
}

/** The value that all entries have; null when they differ, or when it is null. */
function shared(entries: readonly OperationEntry[], of: (entry: OperationEntry) => string | null): string | null {
  const [first] = entries;
  if (first === undefined) return null;
  const value = of(first);
  return entries.every((entry) => of(entry) === value) ? value : null;
}

/** An entry that is to be written. */
export interface PendingEntry {
  readonly body: EntryBody;
  /** ISO time. */
  readonly at: string;
}
