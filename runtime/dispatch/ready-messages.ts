import { type Address, type Partition, tenantOf } from '../address.ts';
import { SvcError } from '../errors.ts';
import { WaitBudget } from '../kit/waits.ts';
import type { MailboxEntry, Message } from '../message.ts';
import type { Activation, ActorDraft } from '../turns/actor-draft.ts';
import { decodeDeferred, decodeEntry, isReadable, loadActivations } from '../turns/loading.ts';
import { isSpilled } from '../turns/payload.ts';
import type { KernelParts } from './kernel-parts.ts';
import { keyOfTenant, type SlowActors } from './slow-actors.ts';

interface MessagesToReady {
  readonly entries: readonly MailboxEntry[];
  /** Actors that the batch has already changed. */
  readonly drafts: ReadonlyMap<Address, ActorDraft>;
  readonly placeOf: (to: Address, entry: MailboxEntry) => Partition;
  /** Number of the last entry when the log was taken. */
  readonly takenAt: number;
  /** Most deferred messages that one retry drains. */
  readonly drainLimit: number;
  /** Null: the batch waits for every actor. */
  readonly slow: SlowActors | null;
}

/** Messages whose turns can run. */
export interface ReadyMessages {
  /** The message of each entry. Null: its body is in Blobs and was not read in time. */
  readonly messages: readonly (Message | SvcError | null)[];
  /** Entries whose actors are slow, by index, each with the key of its actor (`SlowActors.keyOf`). */
  readonly slow: ReadonlyMap<number, string>;
  /** Loaded actors. An error stands for an actor that cannot be read; an absent one has an unknown kind. */
  readonly activations: ReadonlyMap<Address, Activation | SvcError>;
  /** Decoded messages that a retry will drain. */
  readonly bodies: ReadonlyMap<string, Message>;
}

/** How long a batch for many actors waits for those that are not in memory. */
const PATIENCE_MS = 5;

/** Decodes messages and loads their actors. */
export async function readyMessages(parts: KernelParts, asked: MessagesToReady): Promise<ReadyMessages> {
  const { entries, drafts, slow } = asked;
  const patience = slow === null ? null : new WaitBudget(parts.clock, PATIENCE_MS);
  try {
    const messages = await decodeAll(parts, asked, patience);
    const waiting = slow === null ? new Map<number, string>() : findWaiting(asked, slow, messages);
    const isNow = (index: number): boolean => !waiting.has(index);
    const { activations, late, locked } = await loadActivations(
      parts,
      unknownAmong(asked, messages, isNow),
      begunAmong(asked, messages),
      patience,
    );
    for (const [address, { activation, record }] of drafts) activations.set(address, { ...activation, record });
    for (const [index, entry] of entries.entries()) {
      const message = messages[index];
      if (slow === null || !isNow(index) || message == null || !isReadable(message)) continue;
      if (!late.has(message.to) && !drainsLarge(activations.get(message.to))) continue;
      waiting.set(
        index,
        locked.has(message.to) ? keyOfTenant(tenantOf(message.to)) : slow.keyOf(entry.body, message.to),
      );
    }
    const [now, readable] =
      waiting.size === 0
        ? [entries, messages]
        : [entries.filter((_, index) => isNow(index)), messages.filter((_, index) => isNow(index))];
    const bodies = await decodeDeferred(parts, now, readable, activations, asked.drainLimit);
    return { messages, slow: waiting, activations, bodies };
  } finally {
    patience?.end();
  }
}

/** Decodes the entries. Null for a body that is in Blobs and was not read in time. */
async function decodeAll(
  { payloads }: KernelParts,
  { entries, slow }: MessagesToReady,
  patience: WaitBudget | null,
): Promise<(Message | SvcError | null)[]> {
  const messages: (Message | SvcError | null)[] = [];
  const reading: Promise<void>[] = [];
  for (const [index, { body, locked }] of entries.entries()) {
    if (locked !== undefined) {
      if (patience === null) throw new SvcError('unavailable', locked);
      messages.push(null);
      continue;
    }
    const decoded = decodeEntry(payloads, body);
    messages.push(decoded instanceof Promise ? null : decoded);
    if (!(decoded instanceof Promise)) continue;
    const read = decoded.then((message) => {
      messages[index] = message;
    });
    // A body written by an older program does not name its owner, so it must be read.
    if (patience === null || slow?.ownerOf(body) === null) await read;
    else reading.push(read);
  }
  if (patience === null || reading.length === 0) return messages;
  await patience.for(reading);
  // A copy, so that bodies read later change nothing.
  return [...messages];
}

/** Finds messages that must wait, because earlier messages of their actors are not handled yet. */
function findWaiting(
  { entries, drafts }: MessagesToReady,
  slow: SlowActors,
  messages: readonly (Message | SvcError | null)[],
): Map<number, string> {
  const waiting = new Map<number, string>();
  const keys = new Set<string>();
  if (slow.isEmpty && !messages.includes(null)) return waiting;
  for (const [index, { body }] of entries.entries()) {
    const message = messages[index] ?? null;
    if (message instanceof SvcError) continue;
    const key = slow.keyOf(body, message?.to ?? null);
    const found = message === null ? key : waitingKey(key, message.to, keys, slow, drafts.has(message.to));
    if (found === null) continue;
    waiting.set(index, found);
    keys.add(found);
  }
  return waiting;
}

/** The key under which a message must wait, because earlier ones with it wait; null: it need not. */
function waitingKey(
  key: string,
  to: Address,
  keys: ReadonlySet<string>,
  slow: SlowActors,
  isDraft: boolean,
): string | null {
  if (keys.has(key)) return key;
  const ofTenant = keyOfTenant(tenantOf(to));
  if (keys.has(ofTenant)) return ofTenant;
  return isDraft ? null : slow.waitingKey(key, to);
}

function unknownAmong(
  { entries, drafts, placeOf }: MessagesToReady,
  messages: readonly (Message | SvcError | null)[],
  isNow: (index: number) => boolean,
): Map<Address, Partition> {
  const unknown = new Map<Address, Partition>();
  for (const [index, entry] of entries.entries()) {
    const message = messages[index];
    if (message == null || !isReadable(message)) continue;
    const partition = placeOf(message.to, entry);
    if (isNow(index) && !drafts.has(message.to)) unknown.set(message.to, partition);
  }
  return unknown;
}

/**
 * Actors whose first message is among these. A message that was there when the partition was taken does not count: an
 * earlier holder may have handled it before the store went back to an older state.
 */
function begunAmong(
  { entries, takenAt }: MessagesToReady,
  messages: readonly (Message | SvcError | null)[],
): ReadonlySet<Address> {
  const begun = new Set<Address>();
  for (const [index, { seq }] of entries.entries()) {
    const message = messages[index];
    if (message == null || !isReadable(message) || message.first !== true) continue;
    if (seq > takenAt) begun.add(message.to);
  }
  return begun;
}

/** Whether messages wait behind a failing one with bodies in Blobs, which a retry must read. */
function drainsLarge(activation: Activation | SvcError | undefined): boolean {
  if (activation === undefined || activation instanceof SvcError || activation.record.stuck === null) return false;
  const { body, behind } = activation.record.stuck;
  return [body, ...behind].some(isSpilled);
}
