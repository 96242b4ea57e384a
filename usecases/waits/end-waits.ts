import { type Address, addressOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import type { EndWait } from '../fields.ts';
import type { EndWaits } from '../management.ts';

type Kind = 'execution' | 'workflow';

interface EndWaitsParts {
  /** Whether the run has ended; throws `not_found`. Called rarely, and never twice at the same time for one run. */
  hasEnded(kind: Kind, tenant: string, id: string): Promise<boolean>;
  /** Calls `wake` when an actor may have new events. A wake-up may be lost between nodes. */
  onEvents(address: Address, wake: () => void): Unsubscribe;
  readonly clock: Clock;
}

/** Shortest time between two checks of one actor, ms, however many events it has. */
const LEAST_BETWEEN_MS = 50;

/** Implements `EndWaits` by subscriptions: one watch for each execution that has waiters, shared by all of them. */
export function createEndWaits(parts: EndWaitsParts): EndWaits {
  const watches = new Map<Address, EndWatch>();
  const wait = (kind: Kind, tenant: string, id: string, asked: EndWait): Promise<boolean> => {
    const address = addressOf(kind, tenant, id);
    let watch = watches.get(address);
    if (watch === undefined) {
      watch = new EndWatch(
        { onEvents: (wake) => parts.onEvents(address, wake), clock: parts.clock },
        () => parts.hasEnded(kind, tenant, id),
        () => watches.delete(address),
      );
      watches.set(address, watch);
    }
    return watch.wait(asked);
  };
  return {
    execution: (tenant, id, asked) => wait('execution', tenant, id, asked),
    workflow: (tenant, id, asked) => wait('workflow', tenant, id, asked),
  };
}

/** One of the waiters of a watch. Thousands exist at once, so it is one object that is also its own listener. */
class Waiter {
  readonly lookAgainMs: number;
  readonly #signal: AbortSignal;
  readonly #resolve: (ended: boolean) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onEnd: (waiter: Waiter) => void;
  readonly #cancelTimeout: () => void;

  constructor(
    { timeoutMs, lookAgainMs, signal }: EndWait,
    clock: Clock,
    onEnd: (waiter: Waiter) => void,
    resolve: (ended: boolean) => void,
    reject: (error: unknown) => void,
  ) {
    this.lookAgainMs = lookAgainMs;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onEnd = onEnd;
    this.#cancelTimeout = clock.after(timeoutMs, () => this.settle({ ended: false }));
    signal.addEventListener('abort', this, { once: true });
  }

  /** The signal was aborted. */
  handleEvent(): void {
    this.settle({ error: this.#signal.reason });
  }

  settle(outcome: Outcome): void {
    this.#cancelTimeout();
    this.#signal.removeEventListener('abort', this);
    this.#onEnd(this);
    if ('error' in outcome) this.#reject(outcome.error);
    else this.#resolve(outcome.ended);
  }
}

type Outcome = { readonly ended: boolean } | { readonly error: unknown };

/** The watch that all waiters for one end share. Lives from the first waiter to the last. */
class EndWatch {
  readonly #look: () => Promise<boolean>;
  readonly #onIdle: () => void;
  readonly #clock: Clock;
  readonly #unsubscribe: Unsubscribe;
  readonly #waiters = new Set<Waiter>();
  /** Monotonic time of the next check. */
  #dueAt = Number.POSITIVE_INFINITY;
  #cancelTimer = () => {};
  #looking = false;
  /** True when a wake-up came after the running check began. */
  #isStale = false;
  #over = false;

  constructor(
    events: { onEvents(wake: () => void): Unsubscribe; readonly clock: Clock },
    look: () => Promise<boolean>,
    onIdle: () => void,
  ) {
    this.#look = look;
    this.#onIdle = onIdle;
    this.#clock = events.clock;
    // Subscribes before the first check, so that no event is missed between the check and the wait.
    this.#unsubscribe = events.onEvents(() => this.#lookIn(LEAST_BETWEEN_MS));
    this.#lookIn(0);
  }

  wait(asked: EndWait): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const waiter = new Waiter(asked, this.#clock, this.#forget, resolve, reject);
      this.#waiters.add(waiter);
      if (asked.signal.aborted) waiter.handleEvent();
      else this.#lookIn(asked.lookAgainMs);
    });
  }

  readonly #forget = (waiter: Waiter): void => {
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) this.#close();
  };

  /** Schedules a check; an earlier one that is already scheduled stays. */
  #lookIn(delayMs: number): void {
    if (this.#over) return;
    if (this.#looking) {
      this.#isStale ||= delayMs <= LEAST_BETWEEN_MS;
      return;
    }
    const dueAt = this.#clock.monotonic() + delayMs;
    if (dueAt >= this.#dueAt) return;
    this.#dueAt = dueAt;
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(delayMs, () => void this.#lookNow());
  }

  async #lookNow(): Promise<void> {
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#looking = true;
    this.#isStale = false;
    try {
      if (await this.#look()) this.#settleAll({ ended: true });
    } catch (error) {
      // A store that is unavailable now may answer the next check.
      const isPassing = error instanceof SvcError && error.row.kind === 'retry';
      if (!isPassing) this.#settleAll({ error });
    }
    this.#looking = false;
    let soonestMs = this.#isStale ? LEAST_BETWEEN_MS : Number.POSITIVE_INFINITY;
    for (const { lookAgainMs } of this.#waiters) soonestMs = Math.min(soonestMs, lookAgainMs);
    this.#lookIn(soonestMs);
  }

  #settleAll(outcome: Outcome): void {
    for (const waiter of [...this.#waiters]) waiter.settle(outcome);
  }

  #close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimer();
    this.#unsubscribe();
    this.#onIdle();
  }
}
