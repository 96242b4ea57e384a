import { isPartition, type Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import type { MailboxEntry } from '../message.ts';

/** A reply that is sent to its session, or stored for it. */
interface Reply {
  readonly messageId: string;
  readonly body: string;
}

/**
 * Mark in front of text from `packReplies`. Functions of format 2 write no mark, `#` in front of ids, and lengths in
 * bytes.
 */
const MARK = '=';

const SEEN_MARK = '#';

/**
 * Packs the replies of one commit to one session: `=`, `id length,body length;…` in UTF-16 units, a newline, then ids
 * and bodies without separators.
 */
export function packReplies(replies: readonly Reply[]): string {
  let head = MARK;
  let texts = '';
  for (const { messageId, body } of replies) {
    head += `${messageId.length},${body.length};`;
    texts += messageId + body;
  }
  return `${head.slice(0, -1)}\n${texts}`;
}

export function readReplies(message: Buffer, receive: (messageId: string, body: string) => void): void {
  if (message[0] === MARK.charCodeAt(0)) readPacked(message.toString('utf8'), receive);
  else readOneByOne(message, receive);
}

/** Finds the reply to one message in a text of `packReplies`; null when it holds none. */
export function replyIn(packed: string, messageId: string): string | null {
  if (!packed.includes(messageId)) return null;
  let found: string | null = null;
  readPacked(packed, (id, body) => {
    if (id === messageId) found = body;
  });
  return found;
}

function readPacked(packed: string, receive: (messageId: string, body: string) => void): void {
  const headEnd = packed.indexOf('\n');
  let position = headEnd + 1;
  for (const pair of packed.slice(MARK.length, headEnd).split(';')) {
    const comma = pair.indexOf(',');
    const idEnd = position + Number(pair.slice(0, comma));
    const bodyEnd = idEnd + Number(pair.slice(comma + 1));
    receive(packed.slice(position, idEnd), packed.slice(idEnd, bodyEnd));
    position = bodyEnd;
  }
}

function readOneByOne(message: Buffer, receive: (messageId: string, body: string) => void): void {
  const headEnd = message.indexOf(10);
  let position = headEnd + 1;
  for (const pair of message.toString('latin1', 0, headEnd).split(';')) {
    const comma = pair.indexOf(',');
    const idEnd = position + Number(pair.slice(0, comma));
    const bodyEnd = idEnd + Number(pair.slice(comma + 1));
    receive(message.toString('utf8', position + SEEN_MARK.length, idEnd), message.toString('utf8', idEnd, bodyEnd));
    position = bodyEnd;
  }
}

/**
 * Reads the reply of a function. An unexpected reply is a bug of ours, because the functions and this file change
 * together.
 */
export function list(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  throw unexpected('a list');
}

export function integer(reply: unknown): number {
  const value = typeof reply === 'string' && reply !== '' ? Number(reply) : reply;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw unexpected('an integer');
}

export function text(reply: unknown): string {
  if (typeof reply === 'string') return reply;
  throw unexpected('text');
}

/** Functions return '' where there is no number. */
export const integerOrNull = (reply: unknown): number | null => (reply === '' ? null : integer(reply));

const unexpected = (what: string): SvcError =>
  new SvcError('internal', undefined, { cause: new TypeError(`Redis did not answer with ${what}`) });

/**
 * Splits a pack into entries. `lengths` are those of its bodies in UTF-16 units; `partitions` names the partition of
 * each entry in a shared log. Both are separated by commas (functions/_append_parts.lua).
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
 * Reads the entries behind `after` and up to `upTo`. From `offset` on, the reply has five values for each pack: number
 * of its first message, time, lengths or '', partitions or '', body. Packs come whole, so the reply may hold messages
 * outside the range.
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
