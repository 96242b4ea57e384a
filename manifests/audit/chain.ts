import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { AuditBody, AuditRecord } from './record.ts';

/** SHA-256, hex, of the RFC 8785 form of a JSON value; half a surrogate pair, which has none, counts as U+FFFD. */
export const canonicalHash = (value: unknown): string => hash('sha256', canonicalText(value), 'hex');

function canonicalText(value: unknown): string {
  try {
    return canonicalize(value) ?? 'null';
  } catch (error) {
    const text = JSON.stringify(value);
    const wellFormed = text.replace(ESCAPE, (one, half: string | undefined) => (half ? '\uFFFD' : one));
    if (wellFormed === text) throw error;
    return canonicalize(JSON.parse(wellFormed)) ?? 'null';
  }
}

/** Escapes as `JSON.stringify` writes them: `\ud800` to `\udfff` only for halves that stand alone. */
const ESCAPE = /\\(?:u(d[89a-f][0-9a-f]{2})|.)/g;

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
