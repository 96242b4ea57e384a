import { type Address, addressOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import type { EndWait } from '../fields.ts';
import type { EndWaits } from '../management.ts';

type Kind = 'execution' | 'workflow';

interface EndWaitsParts {
  /** Whether it has ended; throws `not_found`. Asked seldom, and once at a time for each. */
  hasEnded(kind: Kind, tenant: string, id: string): Promise<boolean>;
  /** Wakes when an actor may have new events; a wake-up may be lost between nodes. */
  onEvents(address: Address, wake: () => void): Unsubscribe;
  readonly clock: Clock;
}

/** An actor with many events at once is looked at only so often, milliseconds. */
const LEAST_BETWEEN_MS = 50;

/** `EndWaits` by subscription: one watch for each execution, however many wait for it, and none when nobody does. */
export function createEndWaits(parts: EndWaitsParts): EndWaits {
  const watches = new Map<Address, EndWatch>();
  const wait = async (kind: Kind, tenant: string, id: string, asked: EndWait): Promise<boolean> => {
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

interface Waiter {
  readonly lookAgainMs: number;
  settle(outcome: { readonly ended: boolean } | { readonly error: unknown }): void;
}

/** All that wait for one end. Lives from the first to the last of them. */
class EndWatch {
  readonly #look: () => Promise<boolean>;
  readonly #onIdle: () => void;
  readonly #clock: Clock;
  readonly #unsubscribe: Unsubscribe;
  readonly #waiters = new Set<Waiter>();
  /** When it is looked again, by monotonic time. */
  #dueAt = Number.POSITIVE_INFINITY;
  #cancelTimer = () => {};
  #looking = false;
  /** Something happened since the look that is under way began. */
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
    // Before the first look, so that nothing falls between looking and waiting.
    this.#unsubscribe = events.onEvents(() => this.#lookIn(LEAST_BETWEEN_MS));
    this.#lookIn(0);
  }

  wait({ timeoutMs, lookAgainMs, signal }: EndWait): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const settle: Waiter['settle'] = (outcome) => {
        cancelTimeout();
        signal.removeEventListener('abort', onAbort);
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#close();
        if ('error' in outcome) reject(outcome.error);
        else resolve(outcome.ended);
      };
      const waiter: Waiter = { lookAgainMs, settle };
      const onAbort = (): void => settle({ error: signal.reason });
      const cancelTimeout = this.#clock.after(timeoutMs, () => settle({ ended: false }));
      this.#waiters.add(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      else this.#lookIn(lookAgainMs);
    });
  }

  /** The sooner of two wishes counts. */
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
      // A store that does not answer now may do so at the next look.
      const isPassing = error instanceof SvcError && error.row.kind === 'retry';
      if (!isPassing) this.#settleAll({ error });
    }
    this.#looking = false;
    let soonestMs = this.#isStale ? LEAST_BETWEEN_MS : Number.POSITIVE_INFINITY;
    for (const { lookAgainMs } of this.#waiters) soonestMs = Math.min(soonestMs, lookAgainMs);
    this.#lookIn(soonestMs);
  }

  #settleAll(outcome: Parameters<Waiter['settle']>[0]): void {
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
