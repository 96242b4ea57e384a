import type { Clock } from '../clock.ts';
import type { OwnStore } from '../errors.ts';
import { backoffMs, jittered, sleep } from '../kit/waits.ts';
import type { Random } from '../random.ts';

/** Makes a small call to a store. Rejects while the store is unavailable. */
export type StoreProbe = () => Promise<unknown>;

interface StoreOutagesParts {
  readonly clock: Clock;
  readonly random: Random;
  /** For a store without a probe, the work itself is tried again. */
  readonly probes: Partial<Record<OwnStore, StoreProbe>>;
  /** Called when the first effect waits for a store, and when the store answers again; for the log. */
  readonly onOutage: (store: OwnStore, change: 'began' | 'ended') => void;
}

const FIRST_PAUSE_MS = 100;

const LONGEST_PAUSE_MS = 2_000;

interface Outage {
  /** Resolves when the store answers, or when no effect waits for it any more. */
  readonly over: Promise<void>;
  readonly unwatched: AbortController;
  waiting: number;
}

/**
 * Effects that wait for a store of this node. One probe serves all of them: ten thousand waiting effects call a store
 * that comes back once, not ten thousand times.
 */
export class StoreOutages {
  readonly #parts: StoreOutagesParts;
  readonly #outages = new Map<OwnStore, Outage>();

  constructor(parts: StoreOutagesParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when the work may be tried again, or as soon as the signal is aborted. `tries` is how often the work has
   * found this store unavailable: the pause grows for a store that answers the probe but still refuses the work.
   */
  async wait(store: OwnStore, tries: number, signal: AbortSignal): Promise<void> {
    const { clock, random, probes } = this.#parts;
    await sleep(clock, jittered(backoffMs(tries, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), random), signal);
    const probe = probes[store];
    if (probe === undefined || signal.aborted) return;
    const outage = this.#outageOf(store, probe);
    outage.waiting += 1;
    await overOrAborted(outage.over, signal);
    outage.waiting -= 1;
    if (outage.waiting === 0) outage.unwatched.abort();
  }

  #outageOf(store: OwnStore, probe: StoreProbe): Outage {
    const known = this.#outages.get(store);
    if (known !== undefined && !known.unwatched.signal.aborted) return known;
    const unwatched = new AbortController();
    const over = this.#untilBack(store, probe, unwatched.signal).then(() => {
      if (this.#outages.get(store) === outage) this.#outages.delete(store);
    });
    const outage: Outage = { over, unwatched, waiting: 0 };
    this.#outages.set(store, outage);
    return outage;
  }

  async #untilBack(store: OwnStore, probe: StoreProbe, unwatched: AbortSignal): Promise<void> {
    const { clock, random, onOutage } = this.#parts;
    let hasFailed = false;
    for (let failures = 0; !unwatched.aborted; failures += 1) {
      try {
        await probe();
        break;
      } catch {
        // An error of any kind means that the store does not serve yet.
        if (!hasFailed) onOutage(store, 'began');
        hasFailed = true;
      }
      await sleep(clock, jittered(backoffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS), random), unwatched);
    }
    if (hasFailed && !unwatched.aborted) onOutage(store, 'ended');
  }
}

/** Resolves at the end of the outage or at the abort. Requires that `over` never rejects. */
function overOrAborted(over: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end, { once: true });
    void over.then(end);
    if (signal.aborted) end();
  });
}

/**
 * Effects that wait without a slot (`EffectContext.parked`): the limit on their number, and the slots in which they
 * continue. The queue has given their slots to others, so as many slots again exist here, and no more of them
 * continue at a time.
 */
export class EffectParking {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  readonly #onParked: (count: number) => void;
  #free: number;
  #parked = 0;

  /** `onParked` is called with the number of effects that wait, after each change of it. */
  constructor(bounds: { readonly most: number; readonly slots: number; readonly onParked: (count: number) => void }) {
    this.#most = bounds.most;
    this.#free = bounds.slots;
    this.#onParked = bounds.onParked;
  }

  /** Begins a wait. False: too many effects wait already. */
  enter(): boolean {
    if (this.#parked >= this.#most) return false;
    this.#parked += 1;
    this.#onParked(this.#parked);
    return true;
  }

  /**
   * Ends a wait, first in, first out. True with a slot in which to continue, which `leave` gives back. False as soon
   * as the signal is aborted: cleaning up needs no slot.
   */
  async goOn(signal: AbortSignal): Promise<boolean> {
    this.#parked -= 1;
    this.#onParked(this.#parked);
    if (signal.aborted) return false;
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return new Promise((resolve) => {
      const settle = (hasSlot: boolean): void => {
        this.#waiting.delete(resume);
        signal.removeEventListener('abort', giveUp);
        resolve(hasSlot);
      };
      const resume = (): void => settle(true);
      const giveUp = (): void => settle(false);
      this.#waiting.add(resume);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free += 1;
    else next();
  }
}
