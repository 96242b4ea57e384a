/** Times from a kill to the events after it. */
export class RecoveryTimes {
  readonly #first: number[] = [];
  readonly #each: number[] = [];
  readonly #sinceUp: number[] = [];
  #killedAt: number | null = null;
  #upAt: number | null = null;
  #waiting = new Set<string>();
  #firstSeen = true;
  readonly #kills: number[] = [];

  killed(atMs: number, running: Iterable<string>): void {
    this.#kills.push(atMs);
    this.#killedAt = atMs;
    this.#upAt = null;
    this.#waiting = new Set(running);
    this.#firstSeen = this.#waiting.size === 0;
  }

  /** The node started after the last kill listens. */
  up(atMs: number): void {
    this.#upAt = atMs;
  }

  saw(id: string, atMs: number): void {
    if (this.#killedAt === null) return;
    const tookMs = atMs - this.#killedAt;
    if (!this.#firstSeen) this.#first.push(tookMs);
    this.#firstSeen = true;
    if (!this.#waiting.delete(id)) return;
    this.#each.push(tookMs);
    if (this.#upAt !== null) this.#sinceUp.push(atMs - this.#upAt);
  }

  get kills(): number {
    return this.#kills.length;
  }

  /** Number of kills between two times. */
  killsBetween(fromMs: number, toMs: number): number {
    return this.#kills.filter((at) => at >= fromMs && at <= toMs).length;
  }

  /** Time from a kill to the first new event of any execution: the node serves again. */
  get first(): readonly number[] {
    return this.#first;
  }

  /** Time from a kill to the next event of each running execution; includes the time of its model or program. */
  get each(): readonly number[] {
    return this.#each;
  }

  /** The same without the start of the process. */
  get sinceUp(): readonly number[] {
    return this.#sinceUp;
  }
}

export function percentile(times: readonly number[], fraction: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? 0;
}

export function histogram(times: readonly number[]): string[] {
  const bounds = [100, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 6_000, Number.POSITIVE_INFINITY];
  let from = 0;
  return bounds.flatMap((to) => {
    const count = times.filter((time) => time >= from && time < to).length;
    const label = to === Number.POSITIVE_INFINITY ? `from ${from}` : `${from}–${to}`;
    from = to;
    return count === 0
      ? []
      : [`${label.padStart(12)} ms ${String(count).padStart(5)} ${'#'.repeat(Math.min(60, count))}`];
  });
}
