import type { ChainEnd } from '../../manifests/audit/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Chain } from './chain.ts';

/** How often unused chains are searched for. */
const LOOK_MS = 10_000;

/** A chain without a new entry for this long is closed. */
const IDLE_MS = 600_000;

/** Most open chains. Above it those that were not used since the last check are closed, the least recently used first. */
const MOST_OPEN = 2_000;

/** Most chains that one check closes, so that their last entries do not keep the store busy. */
const MOST_CLOSED = 1_000;

interface OpenChain {
  readonly chain: Chain;
  /** Monotonic ms. */
  usedAt: number;
  /** Its last entry says that it is closed. */
  isClosed: boolean;
}

interface OpenChainsParts {
  readonly clock: Clock;
  readonly make: (tenant: string) => Chain;
  /** Writes the first entry of a chain that is opened, also of one that was closed before. */
  readonly open: (tenant: string, chain: Chain) => void;
  /** Writes the last entry of a chain that is closed. */
  readonly close: (tenant: string, chain: Chain) => void;
  /** Whether the end of a chain is no longer needed in memory. */
  readonly mayForget: (tenant: string, end: ChainEnd) => boolean;
}

/**
 * The chains that this process writes, by tenant. An unused chain is closed, and dropped from memory once its end was stated:
 * the next entry of its tenant reads the end from the store and continues behind it.
 */
export class OpenChains {
  readonly #parts: OpenChainsParts;
  /** The least recently used one first. */
  readonly #open = new Map<string, OpenChain>();
  #cancel: (() => void) | null = null;
  #hasEnded = false;

  constructor(parts: OpenChainsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The chain for the next entry of the tenant. */
  of(tenant: string): Chain {
    const known = this.#open.get(tenant);
    const one = known ?? { chain: this.#parts.make(tenant), usedAt: 0, isClosed: true };
    one.usedAt = this.#parts.clock.monotonic();
    this.#open.delete(tenant);
    this.#open.set(tenant, one);
    if (one.isClosed) {
      one.isClosed = false;
      this.#parts.open(tenant, one.chain);
    }
    this.#arm();
    return one.chain;
  }

  *ends(): Generator<readonly [tenant: string, end: ChainEnd]> {
    for (const [tenant, { chain }] of this.#open) if (chain.end !== null) yield [tenant, chain.end];
  }

  /** Tenants of chains that are not closed. No chain is closed automatically from here on. */
  end(): string[] {
    this.#hasEnded = true;
    this.#cancel?.();
    return [...this.#open].flatMap(([tenant, { isClosed }]) => (isClosed ? [] : tenant));
  }

  #arm(): void {
    if (this.#hasEnded || this.#open.size === 0) return;
    this.#cancel ??= this.#parts.clock.after(LOOK_MS, () => {
      this.#cancel = null;
      this.#look();
      this.#arm();
    });
  }

  #look(): void {
    const now = this.#parts.clock.monotonic();
    let [excess, closed] = [this.#open.size - MOST_OPEN, 0];
    for (const [tenant, one] of this.#open) {
      const unusedMs = now - one.usedAt;
      if (unusedMs < LOOK_MS || (unusedMs < IDLE_MS && excess <= 0)) return;
      excess -= 1;
      const { chain, isClosed } = one;
      if (chain.pending > 0) continue;
      if (isClosed) {
        if (chain.end === null || this.#parts.mayForget(tenant, chain.end)) this.#open.delete(tenant);
      } else if (closed < MOST_CLOSED) {
        closed += 1;
        one.isClosed = true;
        this.#parts.close(tenant, chain);
      }
    }
  }
}
