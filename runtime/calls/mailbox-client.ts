import type { ActorStore, AppendOutcome, Unsubscribe } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { ActorClient, ActorEvent, ActorSnapshot, CallOptions } from '../client.ts';
import type { Clock } from '../clock.ts';
import { isArchived } from '../define-actor.ts';
import { SvcError, toSvcError } from '../errors.ts';
import type { Json } from '../json.ts';
import type { Message } from '../message.ts';
import type { Archive } from '../projection/archive.ts';
import type { Random } from '../random.ts';
import type { Registry } from '../registry.ts';
import { decodeEvent, decodeReply, encodeMessage } from '../turns/codec.ts';
import type { Payloads } from '../turns/payload.ts';
import { decodeRecord } from '../turns/record.ts';
import { followEvents } from './follow.ts';
import { unwrapReply } from './unwrap-reply.ts';

export interface MailboxClientParts {
  readonly store: ActorStore;
  readonly registry: Registry;
  readonly payloads: Payloads;
  readonly archive: Archive;
  readonly clock: Clock;
  readonly random: Random;
  /** Most client messages one actor may have waiting (design K7). */
  readonly mailboxBound: number;
}

const ASK_TIMEOUT_MS = 30_000;
/** A published reply may be lost; asking the store again this often bounds what that costs. */
const RECALL_MS = 1_000;
/** One timer looks after all waiting asks: a timer each would cost more than the ask. */
const LOOK_EVERY_MS = 100;

interface PendingAsk {
  readonly messageId: string;
  /** Asks of the same id that came while this one waited. */
  readonly again: PendingAsk[];
  readonly resolve: (body: string) => void;
  readonly reject: (error: SvcError) => void;
  readonly partition: Partition;
  readonly type: string;
  /** Monotonic ms. */
  readonly deadline: number;
  recallAt: number;
}

/** `ActorClient` over an `ActorStore`: the way into the system for transports, areas and tests. */
export class MailboxClient implements ActorClient {
  readonly #parts: MailboxClientParts;
  readonly #session: string;
  readonly #pending = new Map<string, PendingAsk>();
  readonly #unsubscribe: Unsubscribe;
  #cancelLook: (() => void) | null = null;

  constructor(parts: MailboxClientParts) {
    this.#parts = parts;
    this.#session = parts.random.uuid();
    this.#unsubscribe = parts.store.onReply(this.#session, (messageId, body) => {
      const ask = this.#pending.get(messageId);
      ask?.resolve(body);
      for (const other of ask?.again ?? []) other.resolve(body);
    });
  }

  close(): void {
    this.#unsubscribe();
    this.#cancelLook?.();
  }

  async tell(to: Address, type: string, payload: Json, options: CallOptions = {}): Promise<void> {
    const message = this.#compose(to, type, payload, options, undefined);
    await this.#append(message, this.#deadline(options), options);
  }

  async ask(to: Address, type: string, payload: Json, options: CallOptions = {}): Promise<Json> {
    const message = this.#compose(to, type, payload, options, this.#session);
    const deadline = this.#deadline(options);
    const { answer, end } = this.#awaitAnswer(message, deadline, options.signal);
    try {
      const outcome = await this.#append(message, deadline, options);
      const early = outcome.kind === 'duplicate' ? outcome.reply : null;
      return unwrapReply(await decodeReply(this.#parts.payloads, early ?? (await answer)));
    } finally {
      end();
    }
  }

  async read(address: Address): Promise<ActorSnapshot | null> {
    const { store, registry, payloads, archive } = this.#parts;
    const definition = registry.definitionOf(address);
    if (definition === undefined) return null;
    const [live = null] = await store.load(registry.partitionOf(address), [address]);
    const text = live ?? (isArchived(definition) ? await archive.loadRecord(address) : null);
    if (text === null) return null;
    const record = decodeRecord(definition, await payloads.unpack(text));
    return {
      address,
      state: record.state,
      revision: record.revision,
      lastEvent: record.lastEvent,
      archived: live === null,
      stuck:
        record.stuck === null
          ? null
          : { messageType: record.stuck.type, error: record.stuck.error, attempts: record.stuck.attempts },
    };
  }

  async events(address: Address, after: number, limit: number): Promise<ActorEvent[]> {
    const { store, registry, payloads, archive } = this.#parts;
    // One event back as well: while that one is in the store nothing was archived, so a follower that waits for news
    // does not ask the documents at each look.
    const from = Math.max(0, after - 1);
    const live = await store.readEvents(registry.partitionOf(address), address, from, limit + after - from);
    const news = live.filter((event) => event.seq > after);
    // An archived actor's events are written there before they leave the store, so one of the two has them.
    const archived = live[0]?.seq === from + 1 ? [] : await archive.readEvents(address, after, limit);
    const found = archived.length > 0 ? archived : news;
    const events: ActorEvent[] = [];
    for (const { seq, data } of found) {
      const event = await decodeEvent(payloads, data);
      events.push({ seq, at: event.at, name: event.n, payload: event.p });
    }
    return events;
  }

  follow(
    address: Address,
    after: number,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): AsyncIterable<ActorEvent | null> {
    const { store, clock, registry } = this.#parts;
    const final = new Set<string>(registry.definitionOf(address)?.finalEvents ?? []);
    return followEvents({ client: this, store, clock, final }, address, after, options);
  }

  async mailbox(address: Address) {
    const { store, registry } = this.#parts;
    const partition = registry.partitionOf(address);
    return { ...(await store.backlog(partition)), depth: await store.depth(partition, address) };
  }

  #deadline(options: CallOptions): number {
    return this.#parts.clock.monotonic() + (options.timeoutMs ?? ASK_TIMEOUT_MS);
  }

  #compose(to: Address, type: string, payload: Json, options: CallOptions, session: string | undefined): Message {
    const { random } = this.#parts;
    return {
      id: options.messageId ?? random.uuid(),
      to,
      from: null,
      cause: null,
      trace: options.trace ?? random.hex(16),
      origin: 'client',
      type,
      payload,
      ...(options.identity === undefined ? {} : { identity: options.identity }),
      ...(session === undefined ? {} : { session }),
    };
  }

  /** Appends; an unknown outcome is repeated with the same id, which the store takes once (design K3). */
  async #append(message: Message, deadline: number, { messageId, signal }: CallOptions): Promise<AppendOutcome> {
    const { store, registry, payloads, clock, random, mailboxBound } = this.#parts;
    const packed = encodeMessage(payloads, message);
    const body = typeof packed === 'string' ? packed : await packed;
    const partition = registry.partitionOf(message.to);
    for (let attempt = 0; ; attempt += 1) {
      try {
        const [outcome] = await store.append(
          partition,
          [{ id: message.id, to: message.to, body, fresh: messageId === undefined && attempt === 0 }],
          mailboxBound,
        );
        if (outcome === undefined) throw new SvcError('internal', 'the store answered nothing');
        if (outcome.kind === 'full') {
          throw new SvcError('mailbox_full', `the actor has ${outcome.depth} waiting messages`, {
            retryAfterMs: 1_000,
          });
        }
        return outcome;
      } catch (thrown) {
        const error = toSvcError(thrown);
        const delayMs = Math.min(20 * 2 ** attempt, 1_000) * (0.5 + random.fraction() / 2);
        if (error.code !== 'unavailable' || clock.monotonic() + delayMs > deadline) throw thrown;
        await this.#sleep(delayMs, signal);
      }
    }
  }

  #awaitAnswer(
    message: Message,
    deadline: number,
    signal: AbortSignal | undefined,
  ): { readonly answer: Promise<string>; readonly end: () => void } {
    const { registry, clock } = this.#parts;
    const first = this.#pending.get(message.id);
    const key = first === undefined ? message.id : `${message.id} ${this.#parts.random.hex(8)}`;
    let giveUp = (): void => {};
    const answer = new Promise<string>((resolve, reject) => {
      giveUp = () => reject(new SvcError('cancelled', 'the caller gave up'));
      const recallAt = clock.monotonic() + RECALL_MS;
      const wanted = { messageId: message.id, partition: registry.partitionOf(message.to), type: message.type };
      const ask = { ...wanted, again: [], resolve, reject, deadline, recallAt };
      this.#pending.set(key, ask);
      first?.again.push(ask);
      signal?.addEventListener('abort', giveUp, { once: true });
      if (signal?.aborted === true) giveUp();
      if (this.#cancelLook === null) this.#look();
    });
    // It may end while the append is under way, and when that failed nobody waits for what the deadline will say.
    answer.catch(() => undefined);
    const end = (): void => {
      this.#pending.delete(key);
      signal?.removeEventListener('abort', giveUp);
    };
    return { answer, end };
  }

  /** Ends asks whose time is over, and asks the store for answers whose publication may be lost. */
  #look(): void {
    const { clock } = this.#parts;
    const now = clock.monotonic();
    for (const ask of this.#pending.values()) {
      if (now >= ask.deadline) ask.reject(new SvcError('deadline_exceeded', undefined, { field: ask.type }));
      else if (now >= ask.recallAt) {
        ask.recallAt = now + RECALL_MS;
        this.#recall(ask);
      }
    }
    this.#cancelLook = this.#pending.size === 0 ? null : clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  #recall(ask: PendingAsk): void {
    this.#parts.store.recallReply(ask.partition, ask.messageId).then(
      (reply) => {
        if (reply !== null) ask.resolve(reply);
      },
      (thrown: unknown) => {
        const error = toSvcError(thrown);
        // A store that is down is asked again until the deadline.
        if (error.code !== 'unavailable') ask.reject(error);
      },
    );
  }

  async #sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    const nap = this.#nap(delayMs, signal);
    await nap.over.finally(nap.cancel);
  }

  /** Resolves null after the delay; rejects when the caller gives up. */
  #nap(
    delayMs: number,
    signal: AbortSignal | undefined,
  ): { readonly over: Promise<null>; readonly cancel: () => void } {
    let cancel = (): void => {};
    const over = new Promise<null>((resolve, reject) => {
      const giveUp = (): void => reject(new SvcError('cancelled', 'the caller gave up'));
      const disarm = this.#parts.clock.after(delayMs, () => resolve(null));
      signal?.addEventListener('abort', giveUp, { once: true });
      if (signal?.aborted === true) giveUp();
      cancel = () => {
        disarm();
        signal?.removeEventListener('abort', giveUp);
      };
    });
    return { over, cancel: () => cancel() };
  }
}
