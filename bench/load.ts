/** Outcome of one timed stretch: completed calls a second, latencies in milliseconds. */
export interface Measured {
  /** Those of the warm-up included. */
  readonly calls: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadPlan {
  /** Calls in flight. */
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly runMs: number;
}

/** Keeps `inFlight` calls in flight: each caller waits for its answer before the next call. Only answered calls count. */
export async function closedLoop(plan: LoadPlan, call: (index: number) => Promise<void>): Promise<Measured> {
  const warmUp = await stretch(plan.inFlight, plan.warmUpMs, call);
  const measured = await stretch(plan.inFlight, plan.runMs, call);
  return { ...measured, calls: warmUp.calls + measured.calls };
}

async function stretch(inFlight: number, forMs: number, call: (index: number) => Promise<void>): Promise<Measured> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const end = startedAt + forMs;
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let at = performance.now(); at < end; at = performance.now()) {
      await call(next++);
      latencies.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  const seconds = (performance.now() - startedAt) / 1_000;
  latencies.sort((a, b) => a - b);
  const at = (part: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))] ?? 0;
  return { calls: latencies.length, perSecond: latencies.length / seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Median by rate, with the lowest and highest rate beside it. */
export function medianOf<T extends Measured>(runs: readonly T[]): T & { readonly low: number; readonly high: number } {
  const sorted = [...runs].sort((a, b) => a.perSecond - b.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  const low = sorted[0];
  const high = sorted[sorted.length - 1];
  if (middle === undefined || low === undefined || high === undefined) throw new Error('nothing was measured');
  return { ...middle, low: low.perSecond, high: high.perSecond };
}
