import type { ActorStore, EventAppend } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { ActorClient, ActorEvent, FollowOptions } from '../client.ts';
import type { Clock } from '../clock.ts';

export interface FollowParts {
  readonly client: Pick<ActorClient, 'events' | 'read'>;
  readonly store: Pick<ActorStore, 'onEvents'>;
  readonly clock: Clock;
  /** Decodes an event as the store holds it. */
  readonly decode: (seq: number, data: string) => Promise<ActorEvent>;
  /** Names of the events that no other event follows. */
  readonly final: ReadonlySet<string>;
}

const PAGE = 256;
/** Longest time between two reads, milliseconds. It limits the delay when a wake-up gets lost. */
const LOOK_AGAIN_MS = 2_000;

/** Events that notices carried, until they are yielded. They need not be read. */
class News {
  #events: { readonly seq: number; readonly data: string }[] = [];
  /** A notice came without its events, or too many wait: they are read. */
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

/** Pause before the next read. A caller that allows longer pauses gets them as the silence grows. */
const lookAgainMs = (silentMs: number, mostMs = LOOK_AGAIN_MS): number =>
  Math.min(mostMs, Math.max(LOOK_AGAIN_MS, silentMs));

/**
 * Follows an actor's events from behind `after` (R1): first the existing ones, then new ones, up to a final event.
 * Yields null after about every `heartbeatMs` of silence. It reads a page at a time and only on demand, so a slow
 * consumer holds no more than one page and one page of events that notices carried.
 */
export async function* followEvents(
  parts: FollowParts,
  address: Address,
  after: number,
  options: FollowOptions,
): AsyncGenerator<ActorEvent | null> {
  const { client, store, clock, decode, final } = parts;
  const { signal, heartbeatMs, mostLookAgainMs } = options;
  let seen = after;
  let woken = true;
  let wake = (): void => {};
  // Subscribed before the first read, so that no event is missed between reading and waiting.
  const news = new News();
  const unsubscribe = store.onEvents(address, (append) => {
    news.add(append);
    woken = true;
    wake();
  });
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  let spokeAt = clock.monotonic();
  let yielded = false;
  try {
    for (;;) {
      woken = false;
      const carried = news.take(seen);
      const events =
        carried === null
          ? await client.events(address, seen, PAGE)
          : await Promise.all(carried.map((one) => decode(one.seq, one.data)));
      for (const event of events) {
        if (signal.aborted) return;
        seen = event.seq;
        yield event;
        if (final.has(event.name)) return;
      }
      if (signal.aborted) return;
      if (events.length > 0) {
        spokeAt = clock.monotonic();
        const first = !yielded;
        yielded = true;
        // A short page means that there was nothing behind it, and a later event has woken this loop. That does not
        // hold for the first page, which was read before the subscription was sure.
        if (first || events.length >= PAGE) continue;
      }
      // A follower that starts beyond the end of an ended actor would wait for ever.
      if (!yielded && (await ended(parts, address, seen))) return;
      const silentMs = clock.monotonic() - spokeAt;
      if (silentMs >= heartbeatMs) {
        // A follower that got an event will get the last one too, unless the store lost some and the actor ended with
        // fewer.
        if (yielded && (await ended(parts, address, seen))) return;
        yield null;
        spokeAt = clock.monotonic();
      }
      if (woken || signal.aborted) continue;
      await new Promise<void>((resume) => {
        wake = resume;
        const nextMs = lookAgainMs(clock.monotonic() - spokeAt, mostLookAgainMs);
        const disarm = clock.after(Math.min(nextMs, heartbeatMs), resume);
        wake = () => {
          disarm();
          resume();
        };
        if (woken || signal.aborted) wake();
      });
    }
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', onAbort);
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
