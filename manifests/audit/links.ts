import { z } from 'zod';
import { AuditRecord, type ChainEnd, emptyChain, recordHash } from './record.ts';

export const fault = (sequence: number | null, kind: FaultKind, message: string): AuditFault => ({
  sequence,
  kind,
  message,
});

/** Faults of an audit chain. */
export type FaultKind =
  /** A record does not match its hash. */
  | 'changed'
  /** The sequence has a gap. */
  | 'missing'
  | 'reordered'
  /** A repeated record, one of another chain, or one after the end. */
  | 'inserted'
  /** A record differs from the one that a node has signed: the chain was rewritten. */
  | 'two_histories'
  /** Of another node or tenant. */
  | 'wrong_chain'
  /** The signed head is beyond the last record. */
  | 'truncated'
  | 'bad_head'
  | 'wrong_session'
  | 'wrong_key'
  | 'not_opened'
  /** Not in the form of an export or a record. */
  | 'malformed';

export interface AuditFault {
  /** Sequence of the faulty record; null for a fault of the whole. */
  readonly sequence: number | null;
  readonly kind: FaultKind;
  readonly message: string;
}

/** The parts of a record that the order check needs; the body is kept as read. */
const Linked = AuditRecord.extend({ body: z.unknown() }).strict();

type Linked = Omit<AuditRecord, 'body'> & { readonly body?: unknown };

/**
 * Faults of each record's hash and of its position in the chain. Values that are not records are skipped. `start`: the record
 * before the first one, for a chain whose beginning was removed.
 */
export function sequenceFaults(records: readonly unknown[], start: ChainEnd = emptyChain): AuditFault[] {
  const links = records.flatMap((record) => {
    const parsed = Linked.safeParse(record);
    return parsed.success ? [parsed.data] : [];
  });
  const all = new Set(links.map(({ sequence }) => sequence));
  const seen = new Set<number>();
  const faults: AuditFault[] = [];
  let before = start;
  for (const link of links) {
    const own = ownFault(link) ?? placeFault(link, before, seen, all) ?? linkFault(link, before);
    if (own !== null) faults.push(own);
    seen.add(link.sequence);
    before = link;
  }
  return faults;
}

function ownFault(link: Linked): AuditFault | null {
  if (hashOf(link) === link.hash) return null;
  return { sequence: link.sequence, kind: 'changed', message: 'its content does not match its hash' };
}

/** Null for a value without a canonical form, such as one nested too deep. */
function hashOf(link: Linked): string | null {
  try {
    return recordHash(link);
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
}

function placeFault(
  { sequence }: Linked,
  before: ChainEnd,
  seen: ReadonlySet<number>,
  all: ReadonlySet<number>,
): AuditFault | null {
  const expected = before.sequence + 1;
  if (seen.has(sequence)) return { sequence, kind: 'inserted', message: `record ${sequence} occurs twice` };
  if (sequence === expected) return null;
  if (sequence < expected) return { sequence, kind: 'reordered', message: `it comes after record ${expected - 1}` };
  if (all.has(expected)) return { sequence, kind: 'reordered', message: `it comes before record ${expected}` };
  const gap = sequence - expected === 1 ? `record ${expected} is` : `records ${expected} to ${sequence - 1} are`;
  return { sequence, kind: 'missing', message: `${gap} missing before it` };
}

function linkFault({ sequence, previous_hash }: Linked, before: ChainEnd): AuditFault | null {
  if (previous_hash === before.hash) return null;
  const message = 'its previous_hash is not the hash of the record before it: one of the two is of another chain';
  return { sequence, kind: 'inserted', message };
}

/** The sequence number of a record that may be malformed; null when it has none. */
export const sequenceOf = (record: unknown): number | null =>
  z.object({ sequence: z.int() }).safeParse(record).data?.sequence ?? null;
