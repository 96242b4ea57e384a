import type { PoolLayout } from '../../runtime/address.ts';

/** A member that may serve a pool. */
export interface Candidate {
  readonly node: string;
  /** Share beside the others, above 0. */
  readonly weight: number;
}

/**
 * Who holds which partition of a pool: the node's id at the partition's number; empty when there is no candidate. The
 * same candidates (distinct node ids) in any order give the same answer, so nodes need not agree on anything else
 * (P2, decision 0011).
 *
 * Weighted rendezvous hashing, drawn instead of scored: every node goes through its own shuffle of the partitions at
 * the speed of its weight, and a partition goes to the node that comes to it first and has room. Where no node is full,
 * a node that leaves moves its own partitions only, and one that joins takes from the others only towards itself.
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
 * The most a member may hold: 1.1 times its share, rounded down so that no load is more than 10 % above it, but never
 * less than its share rounded up, so that together they hold everything.
 */
export function capsOf(partitions: number, members: readonly Candidate[]): number[] {
  const total = members.reduce((sum, { weight }) => sum + weight, 0);
  return members.map(({ weight }) => {
    const share = (partitions * weight) / total;
    return Math.max(Math.ceil(share), Math.floor(1.1 * share));
  });
}

/** A fraction of a draw, the node's own in a pool, so that members seldom come to a partition at the same time. */
export const headStart = (pool: string, node: string): number => fractionOf(`due/${pool}/${node}`);

/** Members by when they come to their next partition: a binary heap, since all but the first stay where they are. */
class DueQueue {
  readonly #weights: readonly number[];
  readonly #partitions: number;
  readonly #equal: boolean;
  /** Places of members, the one that is due first in front. */
  readonly #heap: number[];
  readonly #due: Float64Array;
  /** Draws so far and the head start; of two at the same time the one with the lower id is first. */
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

  /** -1 when nobody is left. */
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

  /** When, if draws came at the rate of the member's weight. With one weight for all their count is in the same order. */
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
 * Draws the numbers below `count` one by one in an order of the seed's own, each once, then -1: a keyed bijection on the
 * next power of two that steps over what is not below `count`. Nothing is stored, so the first few of many cost little.
 */
export function shuffled(seed: string, count: number): () => number {
  const bits = Math.max(2, 32 - Math.clz32(Math.max(1, count - 1)));
  const mask = 2 ** bits - 1;
  const half = bits >> 1;
  const first = hashOf(seed);
  // A hash of its own: seeds that collide in one of the two are still shuffled differently.
  const second = hashOf(`shuffle/${seed}`);
  const third = mix(first ^ Math.imul(second, 0x9e3779b1));
  let next = 0;
  return () => {
    while (next <= mask) {
      // Each step can be undone (adding, odd factors, shifts onto itself), so no number comes twice.
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

/** In [0, 1), the same for a text everywhere. */
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
