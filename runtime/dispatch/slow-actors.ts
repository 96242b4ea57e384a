import type { ActorStore } from '../actor-store.ts';
import { type Address, type Partition, tenantOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import { ownerPart } from '../documents/blob-reference.ts';
import { isEncrypted, tenantOfEncrypted } from '../encryption/text-cipher.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import { backoffMs, sleep } from '../kit/waits.ts';
import type { MailboxEntry } from '../message.ts';
import { decodeMessageText } from '../turns/codec.ts';
import { isSpilled } from '../turns/payload.ts';
import type { KernelParts } from './kernel-parts.ts';

interface SlowActorsParts {
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
  /** Runs and commits messages of one actor, however long that takes. Returns the handled ones. */
  readonly handle: (entries: readonly MailboxEntry[]) => Promise<readonly MailboxEntry[]>;
}

/** A message of the mailbox that is not handled with its batch. */
export interface Postponed {
  readonly entry: MailboxEntry & { readonly partition: Partition };
  /** Key of its actor (`keyOf`). */
  readonly key: string;
}

/** Names all actors of a tenant: their messages wait together for its key. */
export const keyOfTenant = (tenant: string): string => `#${tenant}`;

/** Postponed messages of one actor, in order. */
interface Waiting {
  readonly messages: Postponed['entry'][];
  working: boolean;
}

/**
 * Most messages of one log that are postponed at a time: there are positions for all of them beside the mailbox
 * (`positionOf`, leases.ts).
 */
const MOST_POSTPONED = 4_096;
const MOST_CHARS = 32_000_000;
/** Most actors that are handled in parallel, and most messages of one commit. */
const AT_ONCE = 32;
const MOST_IN_ONE = 64;
/** How long an actor counts as slow after writing it took long. */
const HEAVY_MS = 10_000;
const FIRST_DELAY_MS = 50;
const MOST_DELAY_MS = 1_000;
const WARN_EVERY_MS = 10_000;

/**
 * Actors of one log whose states are slow to load or to write. One commit covers many actors and must not wait for one
 * of them, so their messages are postponed (`SharedLogs`) and handled here, each actor's in order, beside the batches
 * of the log. While a message of an actor waits, all further messages of that actor are postponed too.
 */
export class SlowActors {
  readonly #parts: SlowActorsParts;
  readonly #waiting = new Map<string, Waiting>();
  /** Until when the messages of an actor are postponed without trying. */
  readonly #heavy = new Map<Address, number>();
  #count = 0;
  #chars = 0;
  #working = 0;
  #stopped = false;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: SlowActorsParts) {
    this.#parts = parts;
  }

  /** Owner of a body that is stored in Blobs, or the tenant of an encrypted one. Null when the body does not name it. */
  ownerOf(body: string): string | null {
    if (isEncrypted(body)) return keyOfTenant(tenantOfEncrypted(body));
    const dot = body.lastIndexOf('.');
    return isSpilled(body) && dot > 0 ? body.slice(dot + 1) : null;
  }

  /** Names the actor of a message. `to` is null when the body is in Blobs and was not read yet. */
  keyOf(body: string, to: Address | null): string {
    return to === null ? (this.ownerOf(body) ?? '') : ownerPart(to);
  }

  /**
   * The key under which a message must be postponed, because earlier ones of its actor or tenant are, or because writing the
   * actor took long a moment ago. Null: it need not wait.
   */
  waitingKey(key: string, to: Address): string | null {
    if (this.#waiting.has(key)) return key;
    const ofTenant = keyOfTenant(tenantOf(to));
    if (this.#waiting.has(ofTenant)) return ofTenant;
    return this.isHeavy(to) ? key : null;
  }

  /** Number of postponed messages. */
  get size(): number {
    return this.#count;
  }

  get isAnyWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether no actor is slow, so that messages need no check. */
  get isEmpty(): boolean {
    for (const address of this.#heavy.keys()) if (this.isHeavy(address)) break;
    return this.#waiting.size === 0 && this.#heavy.size === 0;
  }

  /** Whether no more messages may be postponed now. */
  get isFull(): boolean {
    return this.#count >= MOST_POSTPONED || this.#chars >= MOST_CHARS;
  }

  /** Whether messages of an actor are postponed. */
  isWaiting(address: Address): boolean {
    if (this.#waiting.size === 0) return false;
    return this.#waiting.has(ownerPart(address)) || this.#waiting.has(keyOfTenant(tenantOf(address)));
  }

  /** Whether messages of a partition are postponed. */
  isAnyIn(partition: Partition): boolean {
    for (const { messages } of this.#waiting.values()) {
      if (messages.some((entry) => entry.partition === partition)) return true;
    }
    return false;
  }

  /** Notes that the actor's state takes long to write. */
  noteHeavy(address: Address): void {
    // Inserted again as the last: the map is in the order in which the times expire.
    this.#heavy.delete(address);
    this.#heavy.set(address, this.#parts.clock.monotonic() + HEAVY_MS);
  }

  isHeavy(address: Address): boolean {
    const until = this.#heavy.get(address);
    if (until === undefined) return false;
    if (until > this.#parts.clock.monotonic()) return true;
    this.#heavy.delete(address);
    return false;
  }

  /** Adds messages that the store has recorded as postponed. */
  add(postponed: readonly Postponed[]): void {
    for (const { entry, key } of postponed) {
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) this.#waiting.set(key, { messages: [entry], working: false });
      else waiting.messages.push(entry);
      this.#count += 1;
      this.#chars += entry.body.length;
    }
    this.#begin();
  }

  /** Stops: the log is lost or read to its end, and the next holder of the partitions finds the postponed messages. */
  stop(): void {
    this.#stopped = true;
  }

  #begin(): void {
    for (const [key, waiting] of this.#waiting) {
      if (this.#working >= AT_ONCE || this.#stopped) return;
      if (waiting.working) continue;
      waiting.working = true;
      this.#working += 1;
      this.#work(waiting)
        .catch((thrown: unknown) =>
          this.#parts.warn('postponed messages could not be handled; they are tried again', toSvcError(thrown)),
        )
        .finally(() => {
          this.#working -= 1;
          waiting.working = false;
          if (waiting.messages.length === 0) this.#waiting.delete(key);
          this.#begin();
        });
    }
  }

  async #work({ messages }: Waiting): Promise<void> {
    for (let failures = 0; messages.length > 0 && !this.#stopped; ) {
      try {
        const handled = await this.#handle(messages.slice(0, MOST_IN_ONE));
        for (const { body } of messages.splice(0, handled.length)) {
          this.#count -= 1;
          this.#chars -= body.length;
        }
        failures = handled.length > 0 ? 0 : failures + 1;
      } catch (thrown) {
        failures += 1;
        this.#warn(thrown);
      }
      if (failures > 0 && !this.#stopped)
        await sleep(this.#parts.clock, backoffMs(failures, FIRST_DELAY_MS, MOST_DELAY_MS));
    }
  }

  /** Handles messages, and reports a store that never answers. */
  #handle(messages: readonly MailboxEntry[]): Promise<readonly MailboxEntry[]> {
    const { clock, handle } = this.#parts;
    const cancel = clock.after(WARN_EVERY_MS, () =>
      this.#warn(new SvcError('unavailable', 'the store has not answered for 10 s')),
    );
    return handle(messages).finally(cancel);
  }

  /** Reports at most once per interval, because many actors wait for the same store. */
  #warn(thrown: unknown): void {
    const now = this.#parts.clock.monotonic();
    if (now - this.#warnedAt < WARN_EVERY_MS) return;
    this.#warnedAt = now;
    this.#parts.warn(
      `${counted(this.#count, 'message waits', 'messages wait')} for the states of ${counted(this.#waiting.size, 'actor')}`,
      toSvcError(thrown),
    );
  }
}

/** The entries up to the first one whose key cannot be had. Throws when that is the first. */
export async function unlocked(
  store: Pick<ActorStore, 'unlock'>,
  entries: readonly MailboxEntry[],
): Promise<readonly MailboxEntry[]> {
  const { unlock } = store;
  if (unlock === undefined || entries.every(({ locked }) => locked === undefined)) return entries;
  const readable: MailboxEntry[] = [];
  for (const entry of entries) {
    try {
      readable.push(entry.locked === undefined ? entry : await unlock(entry));
    } catch (thrown) {
      if (readable.length === 0) throw thrown;
      break;
    }
  }
  return readable;
}

const PAGE = 256;

const LOOK_AGAIN_MS = 100;

/** Failures from one warning to the next. */
const WARN_EVERY = 100;

/**
 * Reads the messages that were postponed before a log was taken. Their actors count as slow, so that messages for them
 * in the log come behind. It waits for a store that does not answer, until `isOver`.
 */
export async function takePostponed(
  { store, clock, warn }: Pick<KernelParts, 'store' | 'clock' | 'warn'>,
  partitions: readonly Partition[],
  slow: SlowActors,
  isOver: () => boolean,
): Promise<void> {
  for (const partition of partitions) {
    let [after, failures, isLeft] = [0, 0, true];
    while (isLeft && !isOver()) {
      try {
        const page = (await store.sharedLogs?.postponed(partition, after, PAGE)) ?? [];
        for (const entry of page) slow.add([{ entry: { ...entry, partition }, key: keyOf(slow, entry) }]);
        after = page.at(-1)?.seq ?? after;
        isLeft = page.length > 0;
      } catch (thrown) {
        if (failures % WARN_EVERY === 0)
          warn(`the postponed messages of ${partition} could not be read; they are tried again`, toSvcError(thrown));
        failures += 1;
        await sleep(clock, LOOK_AGAIN_MS);
      }
    }
  }
}

/** The key of an entry, behind which earlier ones may wait. */
function keyOf(slow: SlowActors, entry: MailboxEntry): string {
  const to = receiverOf(entry);
  const key = slow.keyOf(entry.body, to);
  return to === null ? key : (slow.waitingKey(key, to) ?? key);
}

/** The receiver of an entry. Null when the body is in Blobs or cannot be decoded. */
function receiverOf({ body, locked }: MailboxEntry): Address | null {
  if (isSpilled(body) || locked !== undefined) return null;
  try {
    return decodeMessageText(body).to;
  } catch {
    // The batch that handles the entry dead-letters it.
    return null;
  }
}
