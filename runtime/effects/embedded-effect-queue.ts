import type { ClaimOutcome, EffectLedger } from '../actor-store.ts';
import type { Clock } from '../clock.ts';
import type { EffectJob, EffectQueue, EffectSlot, RunJob, StartedEffect } from '../effect-queue.ts';
import { SvcError } from '../errors.ts';
import { type Flow, flowOf } from './effect-envelope.ts';
import { FairLine, FairSlots } from './fair-slots.ts';

interface EmbeddedEffectQueueOptions {
  readonly ledger: Pick<EffectLedger, 'claimEffect'>;
  readonly clock: Clock;
  /** Called for a job whose `run` rejected. The job is dropped, and the sweep enqueues its effect again. */
  readonly onFault: (error: unknown, job: EffectJob) => void;
}

interface Worker {
  readonly run: RunJob;
  readonly slots: FairSlots;
  stopped: boolean;
  readonly running: Set<Promise<void>>;
}

/**
 * One queue: tenants in turn, their flows in turn, and the jobs of each flow in order of arrival. Delayed jobs join
 * when due.
 */
interface Lane {
  /** Ids of jobs that wait, are delayed or run. */
  readonly known: Set<string>;
  readonly waiting: FairLine<EffectJob>;
  readonly timers: Set<() => void>;
  readonly workers: Worker[];
}

/**
 * The effect queue of a single node (E1). Jobs are pointers in memory. Tenants get slots in turn, and within a tenant
 * its flows do; none can occupy all slots, however many jobs it has (`FairLine`, `FairSlots`). Losing the jobs loses
 * nothing: the effect's record stays open and the sweep enqueues it again.
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

  /** Starts taking jobs. `concurrency` bounds each of the queues. */
  async work(queues: readonly string[], concurrency: number, run: RunJob): Promise<() => Promise<void>> {
    const mine = queues.map((name) => {
      const slots = new FairSlots(concurrency, () => this.#options.clock.monotonic());
      const worker: Worker = { run, slots, stopped: false, running: new Set() };
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

  /** Reserves a slot. Waiting jobs are not overtaken: they have taken every slot that was free for their flow. */
  reserve(queue: string, effect: Pick<EffectJob, 'address' | 'fairnessKey'>): EffectSlot | null {
    const lane = this.#lanes.get(queue);
    const flow = flowOf(effect);
    const worker = lane?.workers.find(({ slots, stopped }) => !stopped && slots.mayTake(flow));
    if (lane === undefined || worker === undefined || this.#closed) return null;
    worker.slots.take(flow);
    return {
      run: (job, started) => {
        lane.known.add(job.id);
        this.#begin(lane, worker, job, started);
      },
      free: () => this.#giveBack(lane, worker, flow),
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
      lane = { known: new Set(), waiting: new FairLine<EffectJob>(), timers: new Set(), workers: [] };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #admit(lane: Lane, job: EffectJob, delayMs: number): void {
    if (delayMs <= 0) {
      lane.waiting.add(flowOf(job), job);
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
    const free = (job: EffectJob): number =>
      lane.workers.findIndex(({ slots, stopped }) => !stopped && slots.mayTake(flowOf(job)));
    while (lane.waiting.size > 0 && lane.workers.some(({ slots, stopped }) => !stopped && slots.free > 0)) {
      const job = lane.waiting.take((one) => free(one) >= 0);
      if (job === undefined) return;
      // The worker that took a job goes to the end of the line.
      const [worker] = lane.workers.splice(free(job), 1);
      if (worker === undefined) return;
      lane.workers.push(worker);
      worker.slots.take(flowOf(job));
      this.#begin(lane, worker, job);
    }
  }

  #begin(lane: Lane, worker: Worker, job: EffectJob, started?: StartedEffect): void {
    const running = this.#run(lane, worker, job, started).finally(() => {
      worker.running.delete(running);
      this.#giveBack(lane, worker, flowOf(job));
    });
    worker.running.add(running);
  }

  #giveBack(lane: Lane, worker: Worker, flow: Flow): void {
    worker.slots.giveBack(flow);
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
