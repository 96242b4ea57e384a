import type { PoolLayout } from '../../runtime/address.ts';

/** A member that may serve a pool. */
export interface Candidate {
  readonly node: string;
  /** Share relative to the others, above 0. */
  readonly weight: number;
}

/**
 * The owner of each partition of a pool, by its number; empty without candidates. The same candidates (distinct node ids) in any
 * order give the same result, so nodes need not agree on anything else (P2, decision 0011).
 *
 * Weighted rendezvous hashing by drawing: every node goes through its own shuffle of the partitions at the speed of its weight, and
 * a partition goes to the first node that reaches it and has room. While no node is full, a leaving node moves only its own
 * partitions, and a joining node only takes partitions for itself.
 */
export function assign(layout: PoolLayout, candidates: readonly Candidate[]): readonly string[] {
  const { pool, partitions } = layout;
  if (candidates.length === 0) return [];
  const members = [...candidates].sort((a, b) => (a.node < b.node ? -1 : 1));
  const room = capsOf(partitions, members);
  const draws = members.map(({ node }) => shuffled(`${pool}/${node}`, partitions));
  const queue = new DueQueue(pool, partitions, members);
  const holders: string[] = Array(partitions).fill('');
  for (let open = partitions; open > 0; ) {
    const at = queue.first();
    const draw = draws[at];
    const left = room[at] ?? 0;
    if (draw === undefined) throw new Error('the caps of all members together are below the number of partitions');
    const partition = left > 0 ? draw() : -1;
    if (partition < 0) {
      queue.drop();
      continue;
    }
    if (holders[partition] === '') {
      holders[partition] = members[at]?.node ?? '';
      room[at] = left - 1;
      open -= 1;
    }
    queue.advance();
  }
  return holders;
}

/**
 * Maximum number of partitions of a member: 1.1 times its share, rounded down, but at least its share rounded up, so that all
 * partitions fit.
 */
export function capsOf(partitions: number, members: readonly Candidate[]): number[] {
  const total = members.reduce((sum, { weight }) => sum + weight, 0);
  return members.map(({ weight }) => {
    const share = (partitions * weight) / total;
    return Math.max(Math.ceil(share), Math.floor(1.1 * share));
  });
}

/** A fraction of a draw, different for each node and pool, so that members seldom reach a partition at the same time. */
export const headStart = (pool: string, node: string): number => fractionOf(`due/${pool}/${node}`);

/** Members by the time of their next draw: a binary heap. */
class DueQueue {
  readonly #weights: readonly number[];
  readonly #partitions: number;
  readonly #equal: boolean;
  /** Indexes of members, the next due first. */
  readonly #heap: number[];
  readonly #due: Float64Array;
  /** Number of draws plus head start; of two members at the same time the lower id is first. */
  readonly #drawn: Float64Array;

  constructor(pool: string, partitions: number, members: readonly Candidate[]) {
    this.#weights = members.map(({ weight }) => weight);
    this.#partitions = partitions;
    this.#equal = this.#weights.every((weight) => weight === this.#weights[0]);
    this.#due = new Float64Array(members.length);
    this.#drawn = Float64Array.from(members, ({ node }) => headStart(pool, node));
    this.#heap = members.map((_, at) => at);
    for (const at of this.#heap) this.#due[at] = this.#dueAt(at);
    for (let place = this.#heap.length >> 1; place >= 0; place -= 1) this.#sink(place);
  }

  /** -1 when the queue is empty. */
  first(): number {
    return this.#heap[0] ?? -1;
  }

  advance(): void {
    const at = this.first();
    this.#drawn[at] = (this.#drawn[at] ?? 0) + 1;
    this.#due[at] = this.#dueAt(at);
    this.#sink(0);
  }

  drop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  /** Time of the next draw at the rate of the member's weight. With equal weights the count has the same order. */
  #dueAt(at: number): number {
    const drawn = this.#drawn[at] ?? 0;
    if (drawn >= this.#partitions) return Infinity;
    return this.#equal ? drawn : -Math.log1p(-drawn / this.#partitions) / (this.#weights[at] ?? 1);
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const due = this.#due;
    const moving = heap[from];
    if (moving === undefined) return;
    const movingDue = due[moving] ?? 0;
    for (let place = from; ; ) {
      let at = 2 * place + 1;
      let child = heap[at] ?? -1;
      let childDue = due[child] ?? Infinity;
      const other = heap[at + 1] ?? -1;
      const otherDue = due[other] ?? Infinity;
      if (otherDue < childDue || (otherDue === childDue && other < child && other >= 0)) {
        at += 1;
        child = other;
        childDue = otherDue;
      }
      if (child < 0 || childDue > movingDue || (childDue === movingDue && child > moving)) {
        heap[place] = moving;
        return;
      }
      heap[place] = child;
      place = at;
    }
  }
}

/**
 * Returns the numbers below `count` in an order given by the seed, each once, then -1: a keyed bijection on the next power of two
 * that skips numbers from `count` on. Nothing is stored, so taking a few of many is cheap.
 */
export function shuffled(seed: string, count: number): () => number {
  const bits = Math.max(2, 32 - Math.clz32(Math.max(1, count - 1)));
  const mask = 2 ** bits - 1;
  const half = bits >> 1;
  const first = hashOf(seed);
  // A second hash, so that seeds that collide in one of them are still shuffled differently.
  const second = hashOf(`shuffle/${seed}`);
  const third = mix(first ^ Math.imul(second, 0x9e3779b1));
  let next = 0;
  return () => {
    while (next <= mask) {
      // Each step is invertible (addition, odd factors, xor-shifts), so no number repeats.
      let at = (next + first) & mask;
      next += 1;
      at = Math.imul(at ^ (at >>> half), second | 1) & mask;
      at = (Math.imul(at ^ (at >>> half), third | 1) + second) & mask;
      at = Math.imul(at ^ (at >>> half), 0x85ebca6b) & mask;
      at ^= at >>> half;
      if (at < count) return at;
    }
    return -1;
  };
}

/** In [0, 1), the same on every node. */
const fractionOf = (text: string): number => hashOf(text) / 2 ** 32;

/** FNV-1a over the UTF-16 code units with the finaliser of MurmurHash3. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return mix(hash);
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
