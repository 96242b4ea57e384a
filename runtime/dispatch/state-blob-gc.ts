import type { ActorStore } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import { isArchived, type Registry } from '../define-actor.ts';
import { toSvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import { within } from '../kit/waits.ts';
import type { Archive } from '../projection/archive.ts';
import type { Payloads } from '../turns/payload.ts';

/** The text of a state record in Blobs, owned by its actor (turns/payload.ts), which the actor no longer refers to. */
interface ReplacedState {
  readonly partition: Partition;
  readonly address: Address;
  readonly text: string;
}

interface StateBlobGcParts {
  readonly store: Pick<ActorStore, 'load'>;
  readonly archive: Pick<Archive, 'loadRecord'>;
  readonly registry: Pick<Registry, 'definitionOf'>;
  readonly payloads: Pick<Payloads, 'discard'>;
  /** Whether messages of the actor are handled now, beside the mailbox: their commit may name a state again. */
  readonly isBusy: (address: Address) => boolean;
  readonly clock: Clock;
  readonly keptMs: number;
  readonly warn: (message: string, error: unknown) => void;
}

interface Waiting extends ReplacedState {
  readonly since: number;
}

/** Limits memory to about 15 MB: 800 large commits a second for 60 s. Blobs beyond it are leaked, not deleted. */
const MOST_WAITING = 50_000;
const AT_ONCE = 8;
/** Least age of a replaced state that a stopping node deletes: another node may have just read its name. */
const LEAST_KEPT_MS = 5_000;
const STOPPED_WITHIN_MS = 5_000;

/**
 * Deletes large states some time after a later commit replaced them (K7), so that a reader that read the record just
 * before can still fetch the state. Before each deletion it checks again whether store or archive refer to the state,
 * because a store may have gone back to an earlier commit in a failover. States that wait when the process is killed
 * stay stored.
 */
export class StateBlobGc {
  readonly #parts: StateBlobGcParts;
  #waiting: Waiting[] = [];
  #sweeping: Promise<void> = Promise.resolve();
  #cancelTimer: (() => void) | null = null;
  #stopped = false;
  #isOver = false;
  #overflowed = 0;

  constructor(parts: StateBlobGcParts) {
    this.#parts = parts;
  }

  /** Number of states that wait to be deleted. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Adds a state that a successful commit has replaced. */
  add(replaced: ReplacedState): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#overflowed += 1;
      return;
    }
    this.#waiting.push({ ...replaced, since: this.#parts.clock.monotonic() });
    this.#arm();
  }

  /** Deletes the states that were replaced some seconds ago, then stops. It never takes long and never throws. */
  async stop(): Promise<void> {
    const { clock, keptMs } = this.#parts;
    this.#stopped = true;
    this.#cancelTimer?.();
    const swept = this.#sweeping.then(() => this.#sweep(Math.min(LEAST_KEPT_MS, keptMs)));
    await within(clock, STOPPED_WITHIN_MS, swept);
    this.#isOver = true;
  }

  #arm(): void {
    const first = this.#waiting[0];
    if (this.#stopped || this.#cancelTimer !== null || first === undefined) return;
    const { clock, keptMs } = this.#parts;
    const dueMs = first.since + keptMs - clock.monotonic();
    // Never again at once: states that follow shortly are deleted together, and an unavailable store is not called too
    // often.
    this.#cancelTimer = clock.after(Math.max(dueMs, keptMs / 20), () => {
      this.#sweeping = this.#sweep(keptMs).finally(() => {
        this.#cancelTimer = null;
        this.#arm();
      });
    });
  }

  async #sweep(keptMs: number): Promise<void> {
    const { clock, warn } = this.#parts;
    if (this.#overflowed > 0) {
      warn(
        `${counted(this.#overflowed, 'replaced state stays', 'replaced states stay')} stored and will not be deleted`,
        new Error('the queue of deletions was full'),
      );
      this.#overflowed = 0;
    }
    const before = clock.monotonic() - keptMs;
    while (!this.#isOver) {
      const due = this.#waiting.slice(0, AT_ONCE).filter(({ since }) => since <= before);
      if (due.length === 0) return;
      this.#waiting = this.#waiting.slice(due.length);
      const again = (await Promise.all(due.map((state) => this.#delete(state)))).filter((state) => state !== null);
      if (again.length === 0) continue;
      this.#waiting = [...again, ...this.#waiting];
      return;
    }
  }

  /** Deletes a state. Null when it is done; the state itself when it must be tried again. */
  async #delete(state: Waiting): Promise<Waiting | null> {
    try {
      const { isBusy } = this.#parts;
      if (isBusy(state.address)) return state;
      const isNamed = await this.#isNamed(state);
      if (isBusy(state.address)) return state;
      if (!isNamed) await this.#parts.payloads.discard(state.text);
      return null;
    } catch (thrown) {
      const error = toSvcError(thrown);
      this.#parts.warn(`a replaced state of ${state.address} could not be deleted`, error);
      return error.code === 'unavailable' ? state : null;
    }
  }

  async #isNamed({ partition, address, text }: ReplacedState): Promise<boolean> {
    const { store, archive, registry } = this.#parts;
    const [stored = null] = await store.load(partition, [address]);
    if (stored === text) return true;
    const definition = registry.definitionOf(address);
    return definition !== undefined && isArchived(definition) && (await archive.loadRecord(address)) === text;
  }
}
