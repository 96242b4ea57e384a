import type { ActorStore, AppendOutcome } from '../actor-store.ts';
import { type Address, asAddress, type Partition } from '../address.ts';
import type {
  ActorClient,
  ActorEvent,
  ActorSnapshot,
  CallOptions,
  FollowOptions,
  PlaceOutcome,
  PlaceWish,
  ReadOptions,
} from '../client.ts';
import type { Clock } from '../clock.ts';
import { isArchived, type Registry, type Schemas } from '../define-actor.ts';
import { isErrorCode, SvcError, toSvcError } from '../errors.ts';
import { hasMoreChars, isJsonObject, type Json } from '../json.ts';
import { backoffMs, jittered, sleep } from '../kit/waits.ts';
import type { Locator } from '../locator.ts';
import type { Message, Reply } from '../message.ts';
import type { Archive } from '../projection/archive.ts';
import type { Random } from '../random.ts';
import type { Activation } from '../turns/actor-draft.ts';
import { decodeEvent, decodeReply, encodeLargeMessage, encodeMessage, type WireEvent } from '../turns/codec.ts';
import type { Payloads } from '../turns/payload.ts';
import { decodeRecord } from '../turns/record.ts';
import { type ActorHandle, actorHandle, type Callable } from './actor-handle.ts';
import { followsFrom } from './calls-of-effect.ts';
import { EventFollower, type FollowParts } from './follow.ts';
import { PendingAsks } from './pending-asks.ts';
import { type PlacingParts, placeActor } from './place-actor.ts';
import { SharedLooks } from './shared-looks.ts';
import { type WaitingMessages, type WaitingPage, waitingMessages } from './waiting-messages.ts';

interface MailboxClientParts {
  readonly store: ActorStore;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly placing: PlacingParts;
  readonly payloads: Payloads;
  readonly archive: Archive;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether a trace that begins here is sampled. */
  readonly samples: (trace: string) => boolean;
  /** Most client messages that may wait for one actor (K7). */
  readonly mailboxBound: number;
  /** An actor in memory, as its last commit left it. Absent: this process has none. */
  readonly inMemory?: ((address: Address) => Pick<Activation, 'record' | 'text'> | undefined) | undefined;
}

const ASK_TIMEOUT_MS = 30_000;

/** Messages above this size are encoded in turns of the event loop. */
const IN_TURNS_CHARS = 64 * 1024;

/**
 * How long a call is repeated while the store cannot be reached, or cannot accept it now, for example because its disk is
 * full. The caller gets `unavailable` within 2 s and repeats the call with the same id.
 */
const STORE_AWAY_MS = 1_500;

/** `ActorClient` over an `ActorStore`: transports, other modules and tests reach actors through it. */
export class MailboxClient implements ActorClient {
  /** The stored text of each snapshot. */
  readonly #texts = new WeakMap<ActorSnapshot, string>();
  readonly #parts: MailboxClientParts;
  readonly #session: string;
  readonly #pending: PendingAsks;
  readonly #looks: SharedLooks;
  readonly #following = new Map<string, FollowParts>();

  constructor(parts: MailboxClientParts) {
    this.#parts = parts;
    this.#session = parts.random.uuid();
    this.#pending = new PendingAsks(parts.store, parts.clock, parts.random, this.#session);
    this.#looks = new SharedLooks({
      clock: parts.clock,
      numbers: async (address, after, limit) => {
        const partition = parts.locator.known(address) ?? (await parts.locator.locate(address));
        return (await parts.store.readEvents(partition, address, after, limit)).map(({ seq }) => seq);
      },
    });
  }

  close(): void {
    this.#pending.close();
  }

  async tell(to: Address, type: string, payload: Json, options: CallOptions = {}): Promise<void> {
    const message = this.#compose(to, type, payload, options, undefined);
    const deadline = this.#deadline(options);
    await this.#append(message, await this.#locate(to, deadline, options.signal), deadline, options);
  }

  async ask(to: Address, type: string, payload: Json, options: CallOptions = {}): Promise<Json> {
    const message = this.#compose(to, type, payload, options, this.#session);
    const deadline = this.#deadline(options);
    const partition = this.#parts.locator.known(to) ?? (await this.#locate(to, deadline, options.signal));
    const { answer, appended, end } = this.#pending.add(message, partition, deadline, options.signal);
    try {
      const outcome = await this.#append(message, partition, deadline, options);
      if (outcome.kind === 'accepted') appended(outcome);
      const early = outcome.kind === 'duplicate' ? outcome.reply : null;
      return unwrapReply(await decodeReply(this.#parts.payloads, early ?? (await answer)));
    } finally {
      end();
    }
  }

  /**
   * Sends a recorded message again, as one that the recorded message caused: same payload, identity and trace; no caller gets
   * its answer. With the same `id` it is handled once.
   */
  async repeat({ to, from, type, payload, identity, ...recorded }: Message, id: string): Promise<void> {
    const { id: cause, trace, traceContext } = recorded;
    const message: Message = { id, to, from, cause, trace, traceContext, origin: 'client', type, payload, identity };
    const deadline = this.#deadline({});
    await this.#append(message, await this.#locate(to, deadline, undefined), deadline, {});
  }

  /**
   * Returns the actor of a definition, tenant and id with typed calls: `client.actor(counter, 'acme', 'a').Add({ by: 2
   * })`.
   */
  actor<Messages extends Schemas>(definition: Callable<Messages>, tenant: string, id: string): ActorHandle<Messages> {
    return actorHandle(this, definition, tenant, id);
  }

  async read(
    address: Address,
    known: ActorSnapshot | null = null,
    { shared = false, unchecked = false }: ReadOptions = {},
  ): Promise<ActorSnapshot | null> {
    const { store, registry, locator, payloads, archive, inMemory } = this.#parts;
    const definition = registry.definitionOf(address);
    if (definition === undefined) return null;
    const partition = await locator.locate(address);
    const [live = null] = await store.load(partition, [address]);
    if (live === null) locator.forget(address);
    else locator.note(address, partition);
    const text = live ?? (isArchived(definition) ? await archive.loadRecord(address) : null);
    if (text === null) return null;
    const archived = live === null;
    if (known !== null && known.archived === archived && this.#texts.get(known) === text) return known;
    // The same text is the same record.
    const held = shared && !archived ? inMemory?.(address) : undefined;
    const record = held?.text === text ? held.record : decodeRecord(definition, await payloads.unpack(text), unchecked);
    const snapshot: ActorSnapshot = {
      address,
      state: record.state,
      revision: record.revision,
      lastEvent: record.lastEvent,
      archived,
      timers: Object.keys(record.timers),
      effects: record.effects,
      trace: record.traced?.trace,
      stuck:
        record.stuck === null
          ? null
          : { messageType: record.stuck.type, error: record.stuck.error, attempts: record.stuck.attempts },
    };
    this.#texts.set(snapshot, text);
    return snapshot;
  }

  async events(address: Address, after: number, limit: number): Promise<ActorEvent[]> {
    const { store, locator, archive } = this.#parts;
    const partition = locator.known(address) ?? (await locator.locate(address));
    // Read one event earlier too: while that one is in the store, nothing was archived, so a follower that waits for
    // new events does not query the documents at each read.
    const from = Math.max(0, after - 1);
    const live = await store.readEvents(partition, address, from, limit + after - from);
    const news = live.filter((event) => event.seq > after);
    // An archived actor's events are written to the archive before they leave the store, so one of the two has them.
    const archived = live[0]?.seq === from + 1 ? [] : await archive.readEvents(address, after, limit);
    const found = archived.length > 0 ? archived : news;
    const events: ActorEvent[] = [];
    for (const { seq, data } of found) {
      const event = this.#event(seq, data);
      events.push(event instanceof Promise ? await event : event);
    }
    return events;
  }

  #event(seq: number, data: string): ActorEvent | Promise<ActorEvent> {
    const event = decodeEvent(this.#parts.payloads, data);
    return event instanceof Promise ? event.then((one) => eventOf(seq, one)) : eventOf(seq, event);
  }

  follow(address: Address, after: number, options: FollowOptions): AsyncIterable<ActorEvent | null> {
    return new EventFollower(this.#followParts(address), address, after, options);
  }

  /** The parts of followers, one object for each kind of actor: thousands follow at once. */
  #followParts(address: Address): FollowParts {
    const { store, clock, registry } = this.#parts;
    const { kind = '', finalEvents = [] } = registry.definitionOf(address) ?? {};
    const known = this.#following.get(kind);
    if (known !== undefined) return known;
    const decode = (seq: number, data: string) => this.#event(seq, data);
    const final = new Set<string>(finalEvents);
    const parts = { client: this, store, clock, looks: this.#looks, decode, final };
    this.#following.set(kind, parts);
    return parts;
  }

  async mailbox(address: Address) {
    const { store, locator } = this.#parts;
    const partition = await locator.locate(address);
    return { ...(await store.backlog(partition)), depth: await store.depth(partition, address) };
  }

  async waiting(address: Address, page: WaitingPage): Promise<WaitingMessages> {
    return waitingMessages(this.#parts, address, page);
  }

  place(address: Address, wish: PlaceWish): Promise<PlaceOutcome> {
    return placeActor(this.#parts.placing, address, wish);
  }

  /** The partition in which an actor lives or would live. */
  partitionOf(address: Address): Promise<Partition> {
    return this.#parts.locator.locate(address);
  }

  isServed(pool: string): Promise<boolean> {
    return this.#parts.placing.placement.isServed(pool);
  }

  #deadline(options: CallOptions): number {
    return this.#parts.clock.monotonic() + (options.timeoutMs ?? ASK_TIMEOUT_MS);
  }

  #compose(to: Address, type: string, payload: Json, options: CallOptions, session: string | undefined): Message {
    const { random, samples } = this.#parts;
    const followed = followsFrom(options, { newTrace: () => random.hex(16), samples });
    return {
      id: options.messageId ?? random.uuid(),
      // Lists and ledger read the tenant from it, so a wrong one would keep them from being written.
      to: asAddress(to),
      from: null,
      ...followed,
      origin: 'client',
      type,
      payload,
      ...(options.identity === undefined ? {} : { identity: options.identity }),
      ...(session === undefined ? {} : { session }),
      ...(options.messageId === undefined ? { fresh: true } : {}),
      ...(options.messageId === undefined && options.isFirst === true ? { first: true } : {}),
    };
  }

  /**
   * Appends a message. After an unknown outcome it repeats the call with the same id, which the store accepts once
   * (K3).
   */
  async #append(
    message: Message,
    partition: Partition,
    deadline: number,
    { signal }: CallOptions,
  ): Promise<AppendOutcome> {
    const { store, payloads, mailboxBound, clock } = this.#parts;
    const packed = hasMoreChars(message.payload, IN_TURNS_CHARS)
      ? encodeLargeMessage(payloads, message)
      : encodeMessage(payloads, message);
    const body = typeof packed === 'string' ? packed : await packed;
    const awaited = message.session !== undefined;
    const deliveries = [{ id: message.id, to: message.to, body, fresh: message.fresh === true, awaited }];
    const sentAt = clock.monotonic();
    const taken = await this.#retry(deadline, signal, async () => {
      const ageMs = clock.monotonic() - sentAt;
      const [outcome] = await store.append(partition, deliveries, mailboxBound, ageMs);
      if (outcome === undefined) throw new SvcError('internal', 'the store returned no outcome');
      if (outcome.kind === 'full') {
        throw new SvcError('mailbox_full', `the actor has ${outcome.depth} waiting messages`, {
          retryAfterMs: 1_000,
        });
      }
      return outcome;
    });
    if (taken.kind !== 'late') return taken;
    const text =
      'the store was unavailable for too long to tell whether it accepted the message: read the state before you repeat the call';
    throw new SvcError('unavailable', text, { store: 'actors' });
  }

  #locate(to: Address, deadline: number, signal: AbortSignal | undefined): Promise<Partition> {
    return this.#retry(deadline, signal, () => this.#parts.locator.locate(to));
  }

  /** Repeats a store call for a short time while the store is unavailable. */
  async #retry<T>(deadline: number, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#parts;
    const until = Math.min(deadline, clock.monotonic() + STORE_AWAY_MS);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await call();
      } catch (thrown) {
        const error = toSvcError(thrown);
        const delayMs = jittered(backoffMs(attempt, 20, 500), random);
        if (error.code !== 'unavailable' || clock.monotonic() + delayMs > until) throw thrown;
        await sleep(clock, delayMs, signal);
        if (signal?.aborted === true) throw new SvcError('cancelled', 'the caller stopped waiting');
      }
    }
  }
}

const eventOf = (seq: number, { at, n: name, p: payload }: WireEvent): ActorEvent => ({ seq, at, name, payload });

/** Returns the value of an answer. Throws a refusal as its `SvcError`. */
function unwrapReply(reply: Reply): Json {
  if (reply.ok) return reply.value;
  const code = isErrorCode(reply.code) ? reply.code : 'internal';
  const details = Array.isArray(reply.details) ? reply.details.flatMap(toDetail) : undefined;
  throw new SvcError(code, reply.message, details === undefined ? {} : { details });
}

function toDetail(value: Json): { path?: string; message: string }[] {
  if (!isJsonObject(value) || typeof value.message !== 'string') return [];
  return [{ message: value.message, ...(typeof value.path === 'string' ? { path: value.path } : {}) }];
}
