/** The work of every peer: `runs` at once, each with `steps` in sequence, each step waits `stepMs`. */
export interface Work {
  readonly runs: number;
  readonly steps: number;
  readonly stepMs: number;
}

/** A started peer: its server, its workers, its client. */
export interface FailoverPeer {
  /**
   * Starts all runs and waits for their ends; each step first appends `run step attempt` to the trail (`-` where a peer
   * does not number attempts). Answers the ms from the first start to the last end. Rejects when a run ended badly.
   */
  run(work: Work, trail: string): Promise<number>;
  /** kill -9 of a worker, and a new one at once; resolves when that one serves. */
  replace(worker: number): Promise<void>;
  /** Resolves when the clean-up of the killed workers has ended. */
  settle(): Promise<void>;
  /** Ends all its processes by pid and removes its data. */
  stop(): Promise<void>;
}

/** Runs that are worked on at once by all workers of a peer that bounds them; each has its share. */
const AT_A_TIME = 128;
export const shareOf = (workers: number): number => Math.ceil(AT_A_TIME / workers);

/** Limit for all runs with kills: BullMQ's defaults need a minute. */
export const END_WITHIN_MS = 180_000;
