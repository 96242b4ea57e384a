import type { ActorStore } from '../actor-store.ts';
import type { Log, Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import { type OwnStore, SvcError, toSvcError } from '../errors.ts';
import type { Unsubscribe } from '../leases.ts';
import type { Message } from '../message.ts';
import type { Random } from '../random.ts';

/** How often the store is queried for a reply, milliseconds. It limits the delay when a published reply gets lost. */
const RECALL_MS = 1_000;
/** Queries for replies that may have been lost together are spread over this time, milliseconds. */
const SPREAD_MS = 300;
/** One timer checks all waiting asks, because a timer for each would cost more than the ask. */
const LOOK_EVERY_MS = 100;

/**
 * Where a message was appended: its number, 0 when it is not known, and its log when that is not its partition's own.
 */
interface AppendedAt {
  readonly seq: number;
  readonly log?: Log | undefined;
}

interface PendingAsk {
  readonly messageId: string;
  /** Further asks with the same id that arrived while this one waited. */
  readonly again: PendingAsk[];
  readonly resolve: (body: string) => void;
  readonly reject: (error: SvcError) => void;
  readonly partition: Partition;
  readonly type: string;
  /** Monotonic ms. */
  readonly deadline: number;
  /** Where the message was appended, once known. */
  at: AppendedAt;
  recallAt: number;
  /** Set when the store did not answer the last call. An ask that times out then reports it (`unreachableStore`). */
  unreachable?: OwnStore | undefined;
}

interface PendingAnswer {
  /** Resolves to the encoded reply. Rejects with `deadline_exceeded` or `cancelled`, and `unavailable` after `close`. */
  readonly answer: Promise<string>;
  /** Reports where the message was appended. */
  readonly appended: (at: AppendedAt) => void;
  /** Ends the ask: the caller no longer waits. */
  readonly end: () => void;
}

/** The asks of one client that wait for their committed answers. */
export class PendingAsks {
  readonly #store: Pick<ActorStore, 'recallReply' | 'onReply'>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #asks = new Map<string, PendingAsk>();
  readonly #unsubscribe: Unsubscribe;
  #cancelLook: (() => void) | null = null;
  #isClosed = false;

  constructor(
    store: Pick<ActorStore, 'recallReply' | 'onReply'>,
    clock: Clock,
    random: Random,
    /** Reply session of this client. */
    session: string,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    const receive = (messageId: string, body: string): void => {
      const ask = this.#asks.get(messageId);
      ask?.resolve(body);
      for (const other of ask?.again ?? []) other.resolve(body);
    };
    this.#unsubscribe = store.onReply(session, receive, () => this.#recallSoon());
  }

  /** Rejects the waiting asks and all later ones, because this client receives no more answers. */
  close(): void {
    this.#isClosed = true;
    this.#unsubscribe();
    this.#cancelLook?.();
    this.#cancelLook = null;
    for (const ask of this.#asks.values()) ask.reject(stopped());
  }

  add(message: Message, partition: Partition, deadline: number, signal: AbortSignal | undefined): PendingAnswer {
    const first = this.#asks.get(message.id);
    const key = first === undefined ? message.id : `${message.id} ${this.#random.hex(8)}`;
    let giveUp = (): void => {};
    let appended = (_at: AppendedAt): void => {};
    const answer = new Promise<string>((resolve, reject) => {
      giveUp = () => reject(new SvcError('cancelled', 'the caller stopped waiting'));
      const recallAt = this.#clock.monotonic() + RECALL_MS;
      const wanted = { messageId: message.id, partition, type: message.type };
      const ask: PendingAsk = { ...wanted, again: [], resolve, reject, deadline, recallAt, at: { seq: 0 } };
      appended = (at) => {
        ask.at = at;
      };
      this.#asks.set(key, ask);
      first?.again.push(ask);
      signal?.addEventListener('abort', giveUp, { once: true });
      if (signal?.aborted === true) giveUp();
      if (this.#isClosed) reject(stopped());
      else if (this.#cancelLook === null) this.#look();
    });
    // The ask may end while the append is under way. When the append failed, the later deadline error has no receiver.
    answer.catch(() => undefined);
    const end = (): void => {
      this.#asks.delete(key);
      signal?.removeEventListener('abort', giveUp);
    };
    return { answer, appended, end };
  }

  /** Ends asks whose deadline has passed, and queries the store for answers whose publication may have been lost. */
  #look(): void {
    const now = this.#clock.monotonic();
    for (const ask of this.#asks.values()) {
      if (now >= ask.deadline) ask.reject(outOfTime(ask));
      else if (now >= ask.recallAt) {
        ask.recallAt = now + RECALL_MS;
        this.#recall(ask);
      }
    }
    this.#cancelLook = this.#asks.size === 0 ? null : this.#clock.after(LOOK_EVERY_MS, () => this.#look());
  }

  /** Queries the store soon for all replies, because their publications may have been lost. */
  #recallSoon(): void {
    const now = this.#clock.monotonic();
    for (const ask of this.#asks.values())
      ask.recallAt = Math.min(ask.recallAt, now + this.#random.fraction() * SPREAD_MS);
  }

  #recall(ask: PendingAsk): void {
    this.#store.recallReply(ask.partition, ask.messageId, ask.at).then(
      (reply) => {
        ask.unreachable = undefined;
        if (reply !== null) ask.resolve(reply);
      },
      (thrown: unknown) => {
        const error = toSvcError(thrown);
        // An unavailable store is asked again until the deadline.
        if (error.code !== 'unavailable') ask.reject(error);
        else ask.unreachable = error.store;
      },
    );
  }
}

const stopped = (): SvcError =>
  new SvcError('unavailable', 'the node stops before it has the answer; the call may have been carried out');

const outOfTime = ({ type, unreachable }: PendingAsk): SvcError =>
  new SvcError('deadline_exceeded', undefined, {
    field: type,
    ...(unreachable === undefined ? {} : { store: unreachable }),
  });
