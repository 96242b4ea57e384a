import { type GroupUsage, groupUsages } from './process-table.ts';

export interface GroupLimits {
  readonly memoryBytes: number | null;
  readonly processes: number;
}

export type GroupExcess = 'memory' | 'processes';

interface Watched extends GroupLimits {
  readonly over: (what: GroupExcess) => void;
}

const EVERY_MS = 200;
/** Looking costs at most one part in this many of the node's time. */
const COST_SHARE = 20;

/**
 * Watches what process groups use together, which no limit of a single process can bound: a limit of address space
 * stops programs that only reserve it (every Node program does), and a limit a process multiplies with its forks. One
 * look at the process table serves all groups.
 */
export class GroupWatch {
  readonly #watched = new Map<number, Watched>();
  #timer: NodeJS.Timeout | null = null;

  /** Calls `over` once when a limit is broken; the answer ends the watch. */
  watch(group: number, limits: GroupLimits, over: (what: GroupExcess) => void): () => void {
    const entry = { ...limits, over };
    this.#watched.set(group, entry);
    this.#timer ??= this.#schedule(EVERY_MS);
    return () => {
      if (this.#watched.get(group) === entry) this.#watched.delete(group);
    };
  }

  #schedule(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), delayMs).unref();
  }

  #look(): void {
    this.#timer = null;
    if (this.#watched.size === 0) return;
    const startedAt = performance.now();
    for (const [group, usage] of groupUsages(new Set(this.#watched.keys()))) this.#judge(group, usage);
    const costMs = performance.now() - startedAt;
    this.#timer = this.#schedule(Math.max(EVERY_MS, costMs * COST_SHARE));
  }

  #judge(group: number, usage: GroupUsage): void {
    const watched = this.#watched.get(group);
    if (watched === undefined) return;
    const excess = excessOf(watched, usage);
    if (excess === null) return;
    this.#watched.delete(group);
    watched.over(excess);
  }
}

function excessOf(limits: GroupLimits, usage: GroupUsage): GroupExcess | null {
  if (limits.memoryBytes !== null && usage.memoryBytes > limits.memoryBytes) return 'memory';
  // The guard beside the program belongs to the group too.
  return usage.processes - 1 > limits.processes ? 'processes' : null;
}
