import type { Clock } from '../../runtime/clock.ts';

/** At most so many calls of one node are remembered in a window, and of all nodes together: some 20 MB. */
const MOST_PER_NODE = 32_768;
const MOST = 262_144;

/** What became of a nonce: `full` when there is no room to remember it, and so no way to tell a repeat. */
export type Noted = 'new' | 'repeated' | 'full';

interface Generation {
  readonly since: number;
  readonly seen: Map<string, Set<string>>;
  count: number;
}

/**
 * The nonces of the last window, in two generations: each is kept for one window at least and two at most. A node that
 * calls too often fills its own share and no other's.
 */
export class Nonces {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #windowMs: number;
  readonly #mostPerNode: number;
  readonly #most: number;
  #current: Generation;
  #earlier: Generation;

  constructor(parts: {
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly windowMs: number;
    readonly mostPerNode?: number;
    readonly most?: number;
  }) {
    this.#clock = parts.clock;
    this.#windowMs = parts.windowMs;
    this.#mostPerNode = parts.mostPerNode ?? MOST_PER_NODE;
    this.#most = parts.most ?? MOST;
    this.#current = this.#generation();
    this.#earlier = this.#generation();
  }

  /** Synchronous: of two calls with one nonce that arrive at once exactly one is new. */
  note(nodeId: string, nonce: string): Noted {
    this.#turn();
    const [current, earlier] = [this.#current.seen.get(nodeId), this.#earlier.seen.get(nodeId)];
    if (current?.has(nonce) === true || earlier?.has(nonce) === true) return 'repeated';
    const ofNode = (current?.size ?? 0) + (earlier?.size ?? 0);
    if (ofNode >= this.#mostPerNode || this.size >= this.#most) return 'full';
    if (current === undefined) this.#current.seen.set(nodeId, new Set([nonce]));
    else current.add(nonce);
    this.#current.count += 1;
    return 'new';
  }

  /** How many are remembered. */
  get size(): number {
    return this.#current.count + this.#earlier.count;
  }

  #turn(): void {
    const age = this.#clock.monotonic() - this.#current.since;
    if (age < this.#windowMs) return;
    this.#earlier = age < 2 * this.#windowMs ? this.#current : this.#generation();
    this.#current = this.#generation();
  }

  #generation(): Generation {
    return { since: this.#clock.monotonic(), seen: new Map(), count: 0 };
  }
}
