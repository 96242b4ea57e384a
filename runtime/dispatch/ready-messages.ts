import type { Address, Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import { WaitBudget } from '../kit/waits.ts';
import type { MailboxEntry, Message } from '../message.ts';
import type { Activation, ActorDraft } from '../turns/actor-draft.ts';
import { decodeDeferred, decodeEntry, isReadable, loadActivations } from '../turns/loading.ts';
import { isSpilled } from '../turns/payload.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { SlowActors } from './slow-actors.ts';

export interface MessagesToReady {
  readonly entries: readonly MailboxEntry[];
  /** Actors that the batch has changed already. */
  readonly drafts: ReadonlyMap<Address, ActorDraft>;
  readonly placeOf: (to: Address, entry: MailboxEntry) => Partition;
  /** Number of the last entry when the log was taken. */
  readonly takenAt: number;
  /** Most messages set aside that one retry drains. */
  readonly drainLimit: number;
  /** Null: every actor is waited for. */
  readonly slow: SlowActors | null;
}

/** Messages whose turns can run. */
export interface ReadyMessages {
  /** Of each entry. Null: its body is stored aside and was not read in time. */
  readonly messages: readonly (Message | SvcError | null)[];
  /** Entries whose actors are slow, by index: each with the key of its actor (`SlowActors.keyOf`). */
  readonly slow: ReadonlyMap<number, string>;
  /** An error stands for an actor that cannot be read; absent: there is no such kind. */
  readonly activations: ReadonlyMap<Address, Activation | SvcError>;
  /** Decoded forms of what a retry will drain. */
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
    const { activations, late } = await loadActivations(
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
      waiting.set(index, slow.keyOf(entry.body, message.to));
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

/** Null for a body that is stored aside and does not come in time. */
async function decodeAll(
  { payloads }: KernelParts,
  { entries, slow }: MessagesToReady,
  patience: WaitBudget | null,
): Promise<(Message | SvcError | null)[]> {
  const messages: (Message | SvcError | null)[] = [];
  const reading: Promise<void>[] = [];
  for (const [index, { body }] of entries.entries()) {
    const decoded = decodeEntry(payloads, body);
    messages.push(decoded instanceof Promise ? null : decoded);
    if (!(decoded instanceof Promise)) continue;
    const read = decoded.then((message) => {
      messages[index] = message;
    });
    // A body of an older program does not say whose it is.
    if (patience === null || slow?.ownerOf(body) === null) await read;
    else reading.push(read);
  }
  if (patience === null || reading.length === 0) return messages;
  await patience.for(reading);
  // One that comes later changes nothing any more.
  return [...messages];
}

/** Messages that must not be handled now: earlier ones of their actors are not. */
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
    const mustWait = message === null || keys.has(key) || (!drafts.has(message.to) && slow.mustWait(key, message.to));
    if (!mustWait) continue;
    waiting.set(index, key);
    keys.add(key);
  }
  return waiting;
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
 * Actors whose first message is among these. One that was there when the partition was taken may have been handled by an
 * earlier holder, and a store that went back to an older state brought it back.
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

/** Whether messages wait behind a failing one whose bodies are stored aside: a retry has to read them. */
function drainsLarge(activation: Activation | SvcError | undefined): boolean {
  if (activation === undefined || activation instanceof SvcError || activation.record.stuck === null) return false;
  const { body, behind } = activation.record.stuck;
  return [body, ...behind].some(isSpilled);
}
