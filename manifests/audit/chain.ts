import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AuditBody, AuditRecord } from './record.ts';

/** SHA-256, hex, of the RFC 8785 form of a JSON value. */
export const canonicalHash = (value: unknown): string => hash('sha256', canonicalize(value) ?? 'null', 'hex');

type Unhashed = Omit<AuditRecord, 'hash'>;

/** The hash a record must have; its body may be anything that was read. */
export const recordHash = ({
  sequence,
  at,
  body,
  previous_hash,
}: Omit<Unhashed, 'body'> & { readonly body?: unknown }): string =>
  canonicalHash({ sequence, at, body, previous_hash });

/** What a session remembers of its chain: the last link. */
export interface ChainEnd {
  readonly sequence: number;
  readonly hash: string | null;
}

export const emptyChain: ChainEnd = { sequence: 0, hash: null };

/** The next link. */
export function nextRecord(end: ChainEnd, body: AuditBody, at: string): AuditRecord {
  const record: Unhashed = { sequence: end.sequence + 1, at, body, previous_hash: end.hash };
  return { ...record, hash: recordHash(record) };
}
