import type { MailboxEntry } from '../actor-store.ts';
import { isPartition, type Partition } from '../address.ts';
import { integer, text } from './reply.ts';

/**
 * Takes a pack apart: `lengths` are those of its bodies in UTF-16 units, `partitions` those of a log that partitions share, both
 * separated by commas (functions/_append_parts.lua).
 */
export function unpackEntries(
  first: number,
  at: number,
  lengths: string,
  bodies: string,
  partitions: string,
): MailboxEntry[] {
  const entries: MailboxEntry[] = [];
  const names = partitions === '' ? [] : partitions.split(',');
  let position = 0;
  for (const length of lengths.split(',')) {
    const end = position + Number(length);
    const body = bodies.slice(position, end);
    entries.push({ seq: first + entries.length, at, body, ...placeOf(names[entries.length]) });
    position = end;
  }
  return entries;
}

export const placeOf = (name: string | undefined): { readonly partition?: Partition } =>
  name !== undefined && isPartition(name) ? { partition: name } : {};

/**
 * Entries behind `after`, up to `upTo`, of an answer that from `offset` on has of each entry number of its first message, at,
 * lengths or '', partitions or '', body. Packs come whole, so the answer may hold messages on both sides.
 */
export function readEntries(
  reply: readonly unknown[],
  offset: number,
  after: number,
  upTo = Number.POSITIVE_INFINITY,
): MailboxEntry[] {
  const entries: MailboxEntry[] = [];
  for (let i = offset; i < reply.length; i += 5) {
    const [seq, at, lengths] = [integer(reply[i]), integer(reply[i + 1]), text(reply[i + 2])];
    const [partitions, body] = [text(reply[i + 3]), text(reply[i + 4])];
    if (lengths === '') {
      entries.push({ seq, at, body, ...placeOf(partitions) });
      continue;
    }
    const pack = unpackEntries(seq, at, lengths, body, partitions);
    for (const entry of pack) if (entry.seq > after && entry.seq <= upTo) entries.push(entry);
  }
  return entries;
}
