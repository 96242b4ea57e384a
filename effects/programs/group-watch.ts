import { type GroupUsage, groupUsages } from './process-table.ts';

interface GroupLimits {
  readonly memoryBytes: number | null;
  readonly processes: number;
  /** Whether the system has refused a process because of its limit. */
  readonly refused?: () => boolean;
}

export type GroupExcess = 'memory' | 'processes';

interface Watched extends GroupLimits {
  readonly over: (what: GroupExcess) => void;
  readonly sinceMs: number;
}

const EVERY_MS = 200;
/** The watch uses at most 1 / `COST_SHARE` of the node's processor time. */
const COST_SHARE = 20;
/** Fork bombs grow at once: without a limit of the system, young groups are checked more often. */
const YOUNG = { forMs: 3_000, everyMs: 20, costShare: 8 };

/**
 * Watches the total usage of process groups, which limits of single processes cannot bound: a limit of address space stops
 * programs that only reserve it (every Node program does), and each fork gets the full limit again. One read of the process
 * table serves all groups.
 */
export class GroupWatch {
  readonly #watched = new Map<number, Watched>();
  #timer: NodeJS.Timeout | null = null;
  #dueMs = 0;

  /** Calls `over` once when a limit is exceeded. Returns the function that ends the watch. */
  watch(group: number, limits: GroupLimits, over: (what: GroupExcess) => void): () => void {
    const entry = { ...limits, over, sinceMs: performance.now() };
    this.#watched.set(group, entry);
    this.#schedule(0);
    return () => {
      if (this.#watched.get(group) === entry) this.#watched.delete(group);
    };
  }

  /** Keeps an earlier timer. */
  #schedule(costMs: number): void {
    const { everyMs, costShare } = this.#hasYoung() ? YOUNG : { everyMs: EVERY_MS, costShare: COST_SHARE };
    const delayMs = Math.max(everyMs, costMs * costShare);
    const dueMs = performance.now() + delayMs;
    if (this.#timer !== null && this.#dueMs <= dueMs) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => this.#check(), delayMs).unref();
  }

  #hasYoung(): boolean {
    const youngSince = performance.now() - YOUNG.forMs;
    return [...this.#watched.values()].some((one) => one.refused === undefined && one.sinceMs > youngSince);
  }

  #check(): void {
    this.#timer = null;
    if (this.#watched.size === 0) return;
    const before = { ms: performance.now(), cpu: process.cpuUsage() };
    for (const [group, usage] of groupUsages(new Set(this.#watched.keys()))) this.#judge(group, usage);
    const cpu = process.cpuUsage(before.cpu);
    // Waiting for a processor is not a cost: on a busy machine, rare checks would let programs grow far beyond their limits.
    this.#schedule(Math.min(performance.now() - before.ms, (cpu.user + cpu.system) / 1_000));
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
  if (limits.refused?.() === true) return 'processes';
  if (limits.memoryBytes !== null && usage.memoryBytes > limits.memoryBytes) return 'memory';
  // The guard beside the program belongs to the group too.
  return usage.processes - 1 > limits.processes ? 'processes' : null;
}
