import { z } from 'zod';
import { AuditRecord, recordHash } from './record.ts';

/** What may be wrong with an audit chain. */
export type FaultKind =
  /** A record is not what its hash was made of. */
  | 'changed'
  /** The sequence has a gap. */
  | 'missing'
  | 'reordered'
  /** Twice, of another chain, or added after the end. */
  | 'inserted'
  /** The signed head is further than the last record. */
  | 'truncated'
  | 'bad_head'
  | 'wrong_session'
  | 'wrong_key'
  | 'not_opened'
  /** Not of the form an export or a record has. */
  | 'malformed';

export interface AuditFault {
  /** Of the record it was found at; null when it is about the whole. */
  readonly sequence: number | null;
  readonly kind: FaultKind;
  readonly message: string;
}

/** As far as a record must be a record to have its place looked at; its body stays as it was read. */
const Linked = AuditRecord.extend({ body: z.unknown() }).strict();
type Linked = Omit<AuditRecord, 'body'> & { readonly body?: unknown };

/** Faults of each record's own hash and of its place in the chain. What is no record at all is left out. */
export function sequenceFaults(records: readonly unknown[]): AuditFault[] {
  const links = records.flatMap((record) => {
    const parsed = Linked.safeParse(record);
    return parsed.success ? [parsed.data] : [];
  });
  const all = new Set(links.map(({ sequence }) => sequence));
  const seen = new Set<number>();
  const faults: AuditFault[] = [];
  let before: Linked | null = null;
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
  return { sequence: link.sequence, kind: 'changed', message: 'its content does not have the hash it names' };
}

/** Null for what has no canonical form, such as nesting without end. */
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
  before: Linked | null,
  seen: ReadonlySet<number>,
  all: ReadonlySet<number>,
): AuditFault | null {
  const expected = (before?.sequence ?? 0) + 1;
  if (seen.has(sequence)) return { sequence, kind: 'inserted', message: `record ${sequence} is here twice` };
  if (sequence === expected) return null;
  if (sequence < expected) return { sequence, kind: 'reordered', message: `it comes after record ${expected - 1}` };
  if (all.has(expected)) return { sequence, kind: 'reordered', message: `it comes before record ${expected}` };
  const gap = sequence - expected === 1 ? `record ${expected} is` : `records ${expected} to ${sequence - 1} are`;
  return { sequence, kind: 'missing', message: `${gap} missing before it` };
}

function linkFault({ sequence, previous_hash }: Linked, before: Linked | null): AuditFault | null {
  if (previous_hash === (before?.hash ?? null)) return null;
  const message = 'it was not made after the record before it: it is of another chain, or that one is';
  return { sequence, kind: 'inserted', message };
}
