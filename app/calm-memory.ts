import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Clock, systemClock } from '../runtime/clock.ts';

const MB = 1024 ** 2;
const LOOK_MS = 2_000;
/** Time from the end of a pass to the next look. */
const REST_MS = 10_000;
/** Pages are given back in the background after a round, and calls that came meanwhile are served. */
const BETWEEN_ROUNDS_MS = 300;
/** Largest share of the time in which the thread of a calm node has work. */
const CALM = 0.25;
/** A round moves at most 12 MB of objects, so a large heap needs several. */
const MOST_ROUNDS = 24;
/** The heap is worth a pass once it has grown by this much since the last one. */
const GROWN = { bytes: 32 * MB, share: 0.2 };
/** A round that frees less is the last one of its pass. */
const WORTH = 0.02;

/** The heap of a process, and whether the process is busy. */
export interface Heap {
  /** Bytes of its pages that the process holds, used or not. */
  size(): number;
  /** Share of the time since the last call in which the thread worked, or had work and waited for a core. */
  busy(): number;
  /** Collects garbage once, in small steps, and empties pages that are used in part. */
  collect(): Promise<void>;
}

/**
 * Gives memory back while a node is calm. V8 does not collect while little is allocated, so a node whose callers wait would keep
 * the garbage of their arrival and pages that are used in part. Each round is a collection in steps: it never stops the node
 * for as long as one full collection does (decision 0062).
 */
export class CalmMemory {
  readonly #heap: Heap;
  readonly #clock: Clock;
  readonly #warn: (error: unknown) => void;
  /** Size of the heap after the last pass. */
  #left: number;
  #cancel: () => void = () => {};
  #isClosed = false;

  constructor(heap: Heap, clock: Clock, warn: (error: unknown) => void) {
    this.#heap = heap;
    this.#clock = clock;
    this.#warn = warn;
    this.#left = heap.size();
    this.#arm(LOOK_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #arm(delayMs: number): void {
    if (this.#isClosed) return;
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#look().then(
        (nextMs) => this.#arm(nextMs),
        // Not tried again: V8 still collects when it needs memory.
        this.#warn,
      );
    });
  }

  /** Returns the time until the next look. */
  async #look(): Promise<number> {
    const isCalm = this.#heap.busy() <= CALM;
    const grown = this.#heap.size() - this.#left;
    if (!isCalm || grown < Math.max(GROWN.bytes, GROWN.share * this.#left)) return LOOK_MS;
    for (let round = 0; round < MOST_ROUNDS && !this.#isClosed; round += 1) {
      const before = this.#heap.size();
      await this.#heap.collect();
      this.#heap.busy();
      await this.#pause();
      // A node that is busy again goes on at a later look, since its heap is still larger than before.
      if (this.#heap.busy() > CALM) return LOOK_MS;
      if (before - this.#heap.size() < WORTH * before) break;
    }
    this.#left = this.#heap.size();
    return REST_MS;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#cancel = this.#clock.after(BETWEEN_ROUNDS_MS, resolve);
    });
  }
}

/** By then the objects of the start are garbage. */
const AFTER_START_MS = 1_000;
/** In a smaller heap the pressure below makes V8 collect at once instead of in steps. */
const SMALLEST_LIMIT = 512 * MB;

/**
 * One full garbage collection soon after the start, then smaller ones whenever the node is calm. Starting fills the young generation,
 * which V8 would keep at that size while the node is idle: measured, an idle node holds 126 MB instead of 167 MB. It takes about
 * 130 ms, once, and does not change throughput.
 */
export function settleMemory(warn: (error: unknown) => void): void {
  const timer = setTimeout(() => {
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('gc');
    if (typeof collect === 'function') collect({ flavor: 'last-resort' });
    if (getHeapStatistics().heap_size_limit >= SMALLEST_LIMIT) new CalmMemory(processHeap(), systemClock, warn);
  }, AFTER_START_MS);
  timer.unref();
}

export function processHeap(): Heap {
  let last = performance.eventLoopUtilization();
  return {
    size: () => getHeapStatistics().total_physical_size,
    busy() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    collect: collectInSteps,
  };
}

/**
 * V8 begins a collection in steps when memory outside of its heap has grown by 64 MB. Nothing is written to this memory, so it
 * is never in use.
 */
const PRESSURE_BYTES = 65 * MB;
const ROUND_WITHIN_MS = 10_000;

async function collectInSteps(): Promise<void> {
  const { promise: collected, resolve, reject } = Promise.withResolvers<void>();
  const observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isFull)) resolve();
  });
  observer.observe({ entryTypes: ['gc'] });
  const late = `V8 collected no garbage within ${ROUND_WITHIN_MS / 1_000} s`;
  const cancel = systemClock.after(ROUND_WITHIN_MS, () => reject(new Error(late)));
  // Read when the collection begins: with it V8 empties pages of which a fifth is unused, without it only those with much more.
  setFlagsFromString('--optimize-for-size');
  try {
    new ArrayBuffer(PRESSURE_BYTES);
    await collected;
  } finally {
    setFlagsFromString('--no-optimize-for-size');
    cancel();
    observer.disconnect();
  }
}

function isFull(entry: PerformanceEntry): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : null;
  return (
    typeof detail === 'object' &&
    detail !== null &&
    'kind' in detail &&
    detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR
  );
}
