import type { MailboxEntry } from '../actor-store.ts';
import { integer, text } from './reply.ts';

/** Takes a pack apart: `lengths` are those of its bodies in UTF-16 units, separated by commas (functions/_append_parts.lua). */
export function unpackEntries(first: number, at: number, lengths: string, bodies: string): MailboxEntry[] {
  const entries: MailboxEntry[] = [];
  let position = 0;
  for (const length of lengths.split(',')) {
    const end = position + Number(length);
    entries.push({ seq: first + entries.length, at, body: bodies.slice(position, end) });
    position = end;
  }
  return entries;
}

/**
 * Entries behind `after`, up to `upTo`, of an answer that from `offset` on is `{number of the first message, at, lengths or '',
 * body, at, lengths or '', body …}`. Packs come whole, so the answer may hold messages on both sides.
 */
export function readEntries(
  reply: readonly unknown[],
  offset: number,
  after: number,
  upTo = Number.POSITIVE_INFINITY,
): MailboxEntry[] {
  const entries: MailboxEntry[] = [];
  if (reply.length <= offset) return entries;
  let seq = integer(reply[offset]);
  for (let i = offset + 1; i < reply.length; i += 3) {
    const [at, lengths, body] = [integer(reply[i]), text(reply[i + 1]), text(reply[i + 2])];
    if (lengths === '') {
      entries.push({ seq, at, body });
      seq += 1;
      continue;
    }
    const pack = unpackEntries(seq, at, lengths, body);
    seq += pack.length;
    for (const entry of pack) if (entry.seq > after && entry.seq <= upTo) entries.push(entry);
  }
  return entries;
}
