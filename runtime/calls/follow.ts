import type { ActorStore } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { ActorClient, ActorEvent, FollowOptions } from '../client.ts';
import type { Clock } from '../clock.ts';

export interface FollowParts {
  readonly client: Pick<ActorClient, 'events' | 'read'>;
  readonly store: Pick<ActorStore, 'onEvents'>;
  readonly clock: Clock;
  /** Names of events after which none follows. */
  readonly final: ReadonlySet<string>;
}

const PAGE = 256;
/** A wake-up may be lost; looking again this often bounds what that costs. */
const LOOK_AGAIN_MS = 2_000;

/** When it is looked again: for one that may look less often, the longer it has waited in vain the later. */
const lookAgainMs = (silentMs: number, mostMs = LOOK_AGAIN_MS): number =>
  Math.min(mostMs, Math.max(LOOK_AGAIN_MS, silentMs));

/**
 * Follows an actor's events from behind `after` (R1): what is there, then what comes, up to a final event.
 * Yields null about every `heartbeatMs` of silence. Reads a page at a time and only when asked, so a slow consumer
 * holds no more than one page.
 */
export async function* followEvents(
  parts: FollowParts,
  address: Address,
  after: number,
  options: FollowOptions,
): AsyncGenerator<ActorEvent | null> {
  const { client, store, clock, final } = parts;
  const { signal, heartbeatMs, mostLookAgainMs } = options;
  let seen = after;
  let woken = true;
  let wake = (): void => {};
  // Armed before the first read, so that nothing falls between reading and waiting.
  const unsubscribe = store.onEvents(address, () => {
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
      const events = await client.events(address, seen, PAGE);
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
        // Behind a short page there was nothing, and what came since has woken us. The first was read before that was sure.
        if (first || events.length >= PAGE) continue;
      }
      // Asked for beyond the end of an ended actor, nothing will come.
      if (!yielded && (await ended(parts, address, seen))) return;
      const silentMs = clock.monotonic() - spokeAt;
      if (silentMs >= heartbeatMs) {
        // Who saw an event will see the last one too, unless the store lost some and the actor ended with fewer.
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
  // Behind events that are not there (yet): only the actor knows its last one.
  const lastEvent = (await client.read(address))?.lastEvent ?? 0;
  if (lastEvent === 0 || lastEvent >= seen) return false;
  const [end] = await client.events(address, lastEvent - 1, 1);
  return end !== undefined && final.has(end.name);
}
