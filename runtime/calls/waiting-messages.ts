import type { ActorStore } from '../actor-store.ts';
import { type Address, type Partition, tenantOf } from '../address.ts';
import type { Registry } from '../define-actor.ts';
import { SvcError } from '../errors.ts';
import type { Locator } from '../locator.ts';
import type { MailboxEntry, Message } from '../message.ts';
import { decodeEntry } from '../turns/loading.ts';
import { isSpilled, type Payloads } from '../turns/payload.ts';
import { decodeRecord } from '../turns/record.ts';

/**
 * Why a message waits. `unread`: the batches before it come first. `postponed`: its actor is loaded slowly, and the log goes on without
 * it. `failing`: its turn failed and is tried again. `deferred`: it waits behind one that fails.
 */
export const WAIT_REASONS = ['unread', 'postponed', 'failing', 'deferred'] as const;

export type WaitReason = (typeof WAIT_REASONS)[number];

export interface WaitingMessage {
  readonly message: Message;
  readonly reason: WaitReason;
  /** When it was appended, Unix milliseconds on the store's clock; null where the actor's record has the message alone. */
  readonly at: number | null;
}

/** A place in the list of an actor's waiting messages: a number of messages in its record, or a number of the log. */
export interface WaitingPlace {
  readonly of: 'record' | 'postponed' | 'log';
  readonly after: number;
}

export interface WaitingPage {
  /** Most messages of a page. */
  readonly limit: number;
  /** `next` of the page before. Absent: from the first message. */
  readonly from?: WaitingPlace | undefined;
}

export interface WaitingMessages {
  readonly messages: readonly WaitingMessage[];
  /** Null: none follows. */
  readonly next: WaitingPlace | null;
}

interface WaitingParts {
  readonly store: Pick<ActorStore, 'unread' | 'load' | 'sharedLogs'>;
  readonly registry: Pick<Registry, 'definitionOf'>;
  readonly locator: Pick<Locator, 'locate'>;
  readonly payloads: Payloads;
}

/** Reads of a page. Each is a call of the store, so a page is bounded, although few of many messages may be for the actor. */
const MOST_READS = 8;

/** Most entries of a read. */
const MOST_ENTRIES = 1_000;

/**
 * Lists the messages that wait for an actor: first those that its record keeps because a turn failed, then those that were
 * postponed, then those of the log. Each part is in the order of arrival.
 */
export async function waitingMessages(
  parts: WaitingParts,
  address: Address,
  { limit, from = { of: 'record', after: 0 } }: WaitingPage,
): Promise<WaitingMessages> {
  const partition = await parts.locator.locate(address);
  const messages: WaitingMessage[] = [];
  let place: WaitingPlace | null = from;
  for (let reads = 0; place !== null && reads < MOST_READS && messages.length < limit; reads++) {
    const part: WaitingMessages = await readPart(parts, { address, partition }, place, limit - messages.length);
    messages.push(...part.messages);
    place = part.next;
  }
  return { messages, next: place };
}

interface Target {
  readonly address: Address;
  readonly partition: Partition;
}

function readPart(parts: WaitingParts, target: Target, { of, after }: WaitingPlace, limit: number) {
  if (of === 'record') return ofRecord(parts, target, after, limit);
  if (of === 'postponed') return postponed(parts, target, after, limit);
  return unread(parts, target, after, limit);
}

async function ofRecord(
  { store, registry, payloads }: WaitingParts,
  { address, partition }: Target,
  after: number,
  limit: number,
): Promise<WaitingMessages> {
  const then: WaitingPlace = { of: 'postponed', after: 0 };
  const definition = registry.definitionOf(address);
  const [text = null] = definition === undefined ? [] : await store.load(partition, [address]);
  const record = definition && text !== null ? decodeRecord(definition, await payloads.unpack(text), true) : null;
  if (record === null || record.stuck === null) return { messages: [], next: then };
  const bodies = [record.stuck.body, ...record.stuck.behind];
  const messages: WaitingMessage[] = [];
  for (const [index, body] of bodies.slice(after, after + limit).entries()) {
    const message = await decodeEntry(payloads, body);
    if (message instanceof SvcError) continue;
    messages.push({ message, reason: after + index === 0 ? 'failing' : 'deferred', at: null });
  }
  return { messages, next: after + limit < bodies.length ? { of: 'record', after: after + limit } : then };
}

async function postponed(parts: WaitingParts, target: Target, after: number, limit: number): Promise<WaitingMessages> {
  const { sharedLogs } = parts.store;
  const entries = sharedLogs === undefined ? [] : await sharedLogs.postponed(target.partition, after, MOST_ENTRIES);
  const last = entries.length === MOST_ENTRIES ? entries.at(-1)?.seq : undefined;
  const { messages, cut } = await messagesFor(parts.payloads, target.address, entries, limit);
  const next = cut ?? last;
  return {
    messages: messages.map((one) => ({ ...one, reason: 'postponed' })),
    next: next === undefined ? { of: 'log', after: 0 } : { of: 'postponed', after: next },
  };
}

async function unread(parts: WaitingParts, target: Target, after: number, limit: number): Promise<WaitingMessages> {
  const { address, partition } = target;
  const page = await parts.store.unread(partition, address, after, MOST_ENTRIES);
  const { messages, cut } = await messagesFor(parts.payloads, address, page.entries, limit);
  const next = cut ?? page.next;
  return {
    messages: messages.map((one) => ({ ...one, reason: 'unread' })),
    next: next === null ? null : { of: 'log', after: next },
  };
}

/**
 * Decodes at most `limit` messages for an actor. `cut`: number of the last one, when entries behind it were not looked at. Messages of
 * other actors are decoded only where they are in Blobs, since their addresses are there too.
 */
async function messagesFor(
  payloads: Payloads,
  address: Address,
  entries: readonly MailboxEntry[],
  limit: number,
): Promise<{ readonly messages: readonly Omit<WaitingMessage, 'reason'>[]; readonly cut: number | null }> {
  const named = JSON.stringify(address);
  const inBlobs = `@${tenantOf(address)}/`;
  const messages: Omit<WaitingMessage, 'reason'>[] = [];
  for (const { seq, body, at } of entries) {
    if (isSpilled(body) ? !body.startsWith(inBlobs) : !body.includes(named)) continue;
    const message = await decodeEntry(payloads, body);
    if (message instanceof SvcError || message.to !== address) continue;
    messages.push({ message, at });
    if (messages.length >= limit) return { messages, cut: seq };
  }
  return { messages, cut: null };
}
