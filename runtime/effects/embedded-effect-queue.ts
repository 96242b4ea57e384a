import type { ClaimOutcome, EffectLedger } from '../actor-store.ts';
import type { Clock } from '../clock.ts';
import type { EffectJob, EffectPlace, EffectQueue, RunJob, StartedEffect } from '../effect-queue.ts';
import { SvcError } from '../errors.ts';

export interface EmbeddedEffectQueueOptions {
  readonly ledger: Pick<EffectLedger, 'claimEffect'>;
  readonly clock: Clock;
  /** Told about a job whose `run` rejected; the job is forgotten and the sweep brings its effect back. */
  readonly onFault: (error: unknown, job: EffectJob) => void;
}

interface Worker {
  readonly run: RunJob;
  free: number;
  stopped: boolean;
  readonly running: Set<Promise<void>>;
}

/** One queue: jobs in order of arrival, delayed ones joining when they are due. */
interface Lane {
  /** Ids that wait, are delayed or run. */
  readonly known: Set<string>;
  waiting: EffectJob[];
  /** Index of the oldest job in `waiting`; saves moving the rest at each take. */
  head: number;
  readonly timers: Set<() => void>;
  readonly workers: Worker[];
}

/**
 * The effect queue of a node on its own (design E1): jobs are pointers in memory, first in, first out for each queue.
 * Nothing is lost with them: the effect's record stays open and the sweep enqueues it again.
 */
export class EmbeddedEffectQueue implements EffectQueue {
  readonly #options: EmbeddedEffectQueueOptions;
  readonly #lanes = new Map<string, Lane>();
  #closed = false;

  constructor(options: EmbeddedEffectQueueOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    this.#closed = false;
  }

  async enqueue(job: EffectJob, delayMs = 0): Promise<void> {
    if (this.#closed) throw new SvcError('unavailable', 'the effect queue is closed', { store: 'queue' });
    const lane = this.#lane(job.queue);
    if (lane.known.has(job.id)) return;
    lane.known.add(job.id);
    this.#admit(lane, job, delayMs);
  }

  /** `concurrency` bounds each of the queues. */
  async work(queues: readonly string[], concurrency: number, run: RunJob): Promise<() => Promise<void>> {
    const mine = queues.map((name) => {
      const worker: Worker = { run, free: concurrency, stopped: false, running: new Set() };
      const lane = this.#lane(name);
      lane.workers.push(worker);
      this.#pump(lane);
      return { worker, lane };
    });
    return async () => {
      for (const { worker, lane } of mine) {
        worker.stopped = true;
        const at = lane.workers.indexOf(worker);
        if (at >= 0) lane.workers.splice(at, 1);
      }
      await Promise.all(mine.flatMap(({ worker }) => [...worker.running]));
    };
  }

  /** What waits in the queue goes first. */
  reserve(queue: string): EffectPlace | null {
    const lane = this.#lanes.get(queue);
    const worker = lane?.workers.find(({ free, stopped }) => free > 0 && !stopped);
    if (lane === undefined || worker === undefined || this.#closed) return null;
    worker.free -= 1;
    return {
      run: (job, started) => {
        lane.known.add(job.id);
        this.#begin(lane, worker, job, started);
      },
      free: () => this.#giveBack(lane, worker),
    };
  }

  claim(job: EffectJob, runner: string, ttlMs: number, over?: string, claim?: string): Promise<ClaimOutcome> {
    return this.#options.ledger.claimEffect(job.partition, job.id, runner, ttlMs, over, claim);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const lane of this.#lanes.values()) {
      for (const cancel of lane.timers) cancel();
      for (const worker of lane.workers) worker.stopped = true;
    }
    await Promise.all([...this.#lanes.values()].flatMap((lane) => lane.workers.flatMap((w) => [...w.running])));
    this.#lanes.clear();
  }

  #lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { known: new Set(), waiting: [], head: 0, timers: new Set(), workers: [] };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #admit(lane: Lane, job: EffectJob, delayMs: number): void {
    if (delayMs <= 0) {
      lane.waiting.push(job);
      this.#pump(lane);
      return;
    }
    const { clock } = this.#options;
    const dueAt = clock.monotonic() + delayMs;
    const cancel = clock.after(delayMs, () => {
      lane.timers.delete(cancel);
      // A clock may fire early for delays beyond its range.
      this.#admit(lane, job, Math.ceil(dueAt - clock.monotonic() - 1));
    });
    lane.timers.add(cancel);
  }

  #pump(lane: Lane): void {
    while (lane.head < lane.waiting.length) {
      const at = lane.workers.findIndex((worker) => worker.free > 0 && !worker.stopped);
      const worker = lane.workers[at];
      const job = lane.waiting[lane.head];
      if (worker === undefined || job === undefined) return;
      // The worker that took one goes to the end of the row.
      lane.workers.push(...lane.workers.splice(at, 1));
      lane.head += 1;
      if (lane.head > 1_024 && lane.head * 2 > lane.waiting.length) {
        lane.waiting = lane.waiting.slice(lane.head);
        lane.head = 0;
      }
      worker.free -= 1;
      this.#begin(lane, worker, job);
    }
  }

  #begin(lane: Lane, worker: Worker, job: EffectJob, started?: StartedEffect): void {
    const running = this.#run(lane, worker, job, started).finally(() => {
      worker.running.delete(running);
      this.#giveBack(lane, worker);
    });
    worker.running.add(running);
  }

  #giveBack(lane: Lane, worker: Worker): void {
    worker.free += 1;
    this.#pump(lane);
  }

  async #run(lane: Lane, worker: Worker, job: EffectJob, started?: StartedEffect): Promise<void> {
    try {
      const outcome = await worker.run(job, started);
      if (outcome.kind === 'later' && !this.#closed) {
        this.#admit(lane, job, outcome.delayMs);
        return;
      }
    } catch (error) {
      this.#options.onFault(error, job);
    }
    lane.known.delete(job.id);
  }
}
