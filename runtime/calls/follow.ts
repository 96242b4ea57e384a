import type { ActorStore, EventAppend } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { ActorClient, ActorEvent, FollowOptions } from '../client.ts';
import type { Clock } from '../clock.ts';
import { SharedMoments, type Timed } from '../kit/shared-moments.ts';
import type { Unsubscribe } from '../leases.ts';
import { LOOK_EVERY_MS, type Resting, type SharedLooks } from './shared-looks.ts';

export interface FollowParts {
  readonly client: Pick<ActorClient, 'events' | 'read'>;
  readonly store: Pick<ActorStore, 'onEvents'>;
  readonly clock: Clock;
  readonly looks: Pick<SharedLooks, 'rest' | 'leave'>;
  /** Decodes an event as the store holds it. */
  readonly decode: (seq: number, data: string) => ActorEvent | Promise<ActorEvent>;
  /** Names of final events, which end the stream. */
  readonly final: ReadonlySet<string>;
}

const PAGE = 256;

/** Longest time that the first read waits for the subscription. With it in place, one read is enough. */
const SUBSCRIBED_WITHIN_MS = 250;

/** Events that came with notices and were not yielded yet. They need not be read from the store. */
class News {
  #events: { readonly seq: number; readonly data: string }[] = [];
  /** False: a notice came without its events, or too many wait, so the events must be read from the store. */
  #isWhole = true;

  add(append: EventAppend | undefined): void {
    const { data = [], first = 0 } = append ?? {};
    if (append === undefined || this.#events.length + data.length > PAGE) this.#isWhole = false;
    else for (const [index, one] of data.entries()) this.#events.push({ seq: first + index, data: one });
  }

  /** Takes the events right behind `seen`. Null: they must be read. */
  take(seen: number): readonly { readonly seq: number; readonly data: string }[] | null {
    const [events, isWhole] = [this.#events.filter(({ seq }) => seq > seen), this.#isWhole];
    this.#events = [];
    this.#isWhole = true;
    return isWhole && events.length > 0 && events.every(({ seq }, index) => seq === seen + 1 + index) ? events : null;
  }
}

/** Pause before the next read of a follower that looks for itself: it grows with the silence. */
const lookAgainMs = (silentMs: number, mostMs: number): number => Math.min(mostMs, Math.max(LOOK_EVERY_MS, silentMs));

/** Pauses from this length on end at shared moments. */
const LONG_PAUSE_MS = 10_000;

const DONE = { value: undefined, done: true } as const;

/**
 * Follows an actor's events from behind `after` (R1): first the existing ones, then new ones, up to a final event. Yields null
 * after about every `heartbeatMs` of silence. It reads a page at a time and only on demand, so a slow consumer holds no more
 * than one page and one page of events that notices carried. It is an object instead of a generator, because thousands of
 * callers follow at once.
 */
export class EventFollower implements AsyncIterableIterator<ActorEvent | null>, Resting, Timed {
  readonly #parts: FollowParts;
  readonly #address: Address;
  readonly #options: FollowOptions;
  /** Number of the last event that was yielded. */
  #seen: number;
  #page: readonly ActorEvent[] = [];
  #at = 0;
  #step: 'begin' | 'subscribing' | 'read' | 'consumed' | 'silent' | 'over' = 'begin';
  #spokeAt = 0;
  #hasYielded = false;
  #isFirstRead = true;
  /** Name of event `#seen`, when the last read found it. */
  #behind: string | null = null;
  #woken = true;
  #wake: (() => void) | null = null;
  #disarm: (() => void) | null = null;
  /** The shared moment at which a long pause ends. */
  #moment: number | null = null;
  readonly #news = new News();
  #unsubscribe: Unsubscribe = () => {};

  constructor(parts: FollowParts, address: Address, after: number, options: FollowOptions) {
    this.#parts = parts;
    this.#address = address;
    this.#options = options;
    this.#seen = after;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** One call at a time. */
  async next(): Promise<IteratorResult<ActorEvent | null, undefined>> {
    try {
      for (;;) {
        if (this.#step === 'begin') this.#begin();
        const event = this.#page[this.#at];
        if (this.#step === 'over' || this.#options.signal.aborted) return this.#end();
        if (event !== undefined) return { value: this.#taken(event), done: false };
        if (this.#step === 'subscribing') {
          await this.#untilSubscribed();
          if (this.#step === 'subscribing') this.#step = 'read';
          continue;
        }
        if (this.#step === 'read') {
          await this.#read();
          continue;
        }
        if (this.#step === 'consumed' && (await this.#rests())) return { value: null, done: false };
        if (this.#step !== 'silent') continue;
        this.#step = 'read';
        // The signal may have been aborted during the last read, when nothing could be woken.
        if (!this.#woken && !this.#options.signal.aborted) await this.#untilWoken();
      }
    } catch (thrown) {
      this.#end();
      throw thrown;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    return this.#end();
  }

  get seen(): number {
    return this.#seen;
  }

  look(): void {
    this.#resume();
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.#resume();
  }

  /**
   * Subscribes before the first read, so that no event is missed between reading and waiting. A store whose subscription is
   * in place later calls back then: the first read waits for that, and one that came before is repeated.
   */
  #begin(): void {
    const { store, clock } = this.#parts;
    const subscription = store.onEvents(this.#address, (append) => {
      this.#news.add(append);
      this.#woken = true;
      this.#resume();
    });
    this.#unsubscribe = subscription;
    this.#options.signal.addEventListener('abort', this, { once: true });
    this.#spokeAt = clock.monotonic();
    this.#step = subscription.isPending === true ? 'subscribing' : 'read';
  }

  #untilSubscribed(): Promise<void> {
    return new Promise((resolve) => {
      const disarm = this.#parts.clock.after(SUBSCRIBED_WITHIN_MS, () => this.#resume());
      this.#wake = () => {
        disarm();
        resolve();
      };
    });
  }

  #taken(event: ActorEvent): ActorEvent {
    this.#at += 1;
    this.#seen = event.seq;
    if (this.#parts.final.has(event.name)) this.#close();
    return event;
  }

  async #read(): Promise<void> {
    const { decode } = this.#parts;
    this.#woken = false;
    const carried = this.#news.take(this.#seen);
    this.#page =
      carried === null ? await this.#stored() : await Promise.all(carried.map((one) => decode(one.seq, one.data)));
    this.#at = 0;
    if (this.#isFirstRead) await this.#afterFirst();
    if (this.#step === 'read') this.#step = 'consumed';
  }

  async #afterFirst(): Promise<void> {
    this.#isFirstRead = false;
    const { final } = this.#parts;
    const isRunning = this.#page.length > 0 && !this.#page.some(({ name }) => final.has(name));
    if (!isRunning) await this.#options.unlessRunning?.();
  }

  /** Reads the next page. Until an event was yielded, and before a heartbeat, it also reads event `#seen`, which may be final. */
  async #stored(): Promise<readonly ActorEvent[]> {
    const { client } = this.#parts;
    const [address, seen] = [this.#address, this.#seen];
    this.#behind = null;
    if ((this.#hasYielded && !this.#isSilent()) || seen === 0) return client.events(address, seen, PAGE);
    const events = await client.events(address, seen - 1, PAGE + 1);
    const [first] = events;
    if (first?.seq !== seen) return events;
    this.#behind = first.name;
    return events.slice(1);
  }

  async #hasEnded(): Promise<boolean> {
    if (this.#behind !== null) return this.#parts.final.has(this.#behind);
    return ended(this.#parts, this.#address, this.#seen);
  }

  /** Decides the next step after a consumed page. True: a heartbeat is due. */
  async #rests(): Promise<boolean> {
    const { clock } = this.#parts;
    const read = this.#page.length;
    this.#page = [];
    if (read > 0) {
      this.#spokeAt = clock.monotonic();
      this.#hasYielded = true;
      // A short page means that there was nothing behind it, and a later event has woken this follower.
      if (read >= PAGE) {
        this.#step = 'read';
        return false;
      }
    }
    const isSilent = this.#isSilent();
    // A follower that starts beyond the end of an ended actor would wait for ever. One that got an event also gets the final
    // one, unless the store lost some and the actor ended with fewer.
    if ((isSilent || !this.#hasYielded) && (await this.#hasEnded())) this.#close();
    if (this.#step !== 'consumed') return false;
    this.#step = 'silent';
    if (isSilent) this.#keepTime();
    return isSilent;
  }

  #isSilent(): boolean {
    return this.#parts.clock.monotonic() - this.#spokeAt >= this.#options.heartbeatMs;
  }

  /** A late heartbeat does not delay those after it: else all that one busy moment delayed would come together from then on. */
  #keepTime(): void {
    const now = this.#parts.clock.monotonic();
    const { heartbeatMs } = this.#options;
    this.#spokeAt = now - this.#spokeAt < 2 * heartbeatMs ? this.#spokeAt + heartbeatMs : now;
  }

  #untilWoken(): Promise<void> {
    const { clock, looks } = this.#parts;
    const { heartbeatMs, mostLookAgainMs } = this.#options;
    const silentMs = clock.monotonic() - this.#spokeAt;
    const leftMs = Math.max(0, heartbeatMs - silentMs);
    const pauseMs = mostLookAgainMs === undefined ? leftMs : Math.min(lookAgainMs(silentMs, mostLookAgainMs), leftMs);
    return new Promise((resolve) => {
      this.#wake = resolve;
      // A look for lost wake-ups needs no exact moment; a heartbeat does.
      if (pauseMs >= LONG_PAUSE_MS && pauseMs < leftMs) {
        this.#moment = SharedMoments.of(clock).add(clock.monotonic() + pauseMs, this);
      } else {
        this.#disarm = clock.after(pauseMs, () => this.#resume());
      }
      if (mostLookAgainMs === undefined) looks.rest(this.#address, this);
    });
  }

  onTime(): void {
    this.#moment = null;
    this.#resume();
  }

  #resume(): void {
    const wake = this.#wake;
    if (wake === null) return;
    const { looks, clock } = this.#parts;
    this.#wake = null;
    this.#disarm?.();
    this.#disarm = null;
    if (this.#moment !== null) SharedMoments.of(clock).cancel(this.#moment, this);
    this.#moment = null;
    looks.leave(this.#address, this);
    wake();
  }

  #close(): void {
    this.#step = 'over';
    this.#page = [];
    this.#unsubscribe();
    this.#options.signal.removeEventListener('abort', this);
    this.#resume();
  }

  #end(): IteratorReturnResult<undefined> {
    if (this.#step !== 'over') this.#close();
    return DONE;
  }
}

async function ended({ client, final }: FollowParts, address: Address, seen: number): Promise<boolean> {
  if (final.size === 0 || seen === 0) return false;
  const [last] = await client.events(address, seen - 1, 1);
  if (last !== undefined) return final.has(last.name);
  // The follower waits behind events that do not exist (yet): only the actor knows its last one.
  const lastEvent = (await client.read(address))?.lastEvent ?? 0;
  if (lastEvent === 0 || lastEvent >= seen) return false;
  const [end] = await client.events(address, lastEvent - 1, 1);
  return end !== undefined && final.has(end.name);
}
