import type { ClaimOutcome } from './actor-store.ts';
import type { Address, Partition } from './address.ts';

/** A pointer to an effect record. The record, not the job, says what is to be done (E1). */
export interface EffectJob {
  readonly id: string;
  readonly partition: Partition;
  readonly address: Address;
  readonly queue: string;
  /** The agent or workflow that the job counts for within its tenant; see `ActorDefinition.fairnessKey`. */
  readonly fairnessKey?: string;
}

/** An effect that a commit opened as started by this process (`EffectOpen.started`). */
export interface StartedEffect {
  readonly attempt: number;
  /** Encoded request, with its full content inside. */
  readonly body: string;
  /** `Clock.monotonic` when the commit was sent. The claim may have started as early as that. */
  readonly claimedAt: number;
  /**
   * For an effect that runs ahead of its commit: resolves to whether the commit happened. Until then the store does not
   * know the effect.
   */
  readonly committed?: Promise<boolean>;
}

/** A slot of this process, reserved for one effect. Call one of the two methods once. */
export interface EffectSlot {
  /** Runs the started effect. If it must run later, its job is queued. */
  run(job: EffectJob, started: StartedEffect): void;
  /** Gives the slot back unused. */
  free(): void;
}

export type RunJob = (job: EffectJob, started?: StartedEffect) => Promise<JobOutcome>;

/** What a worker did with a job. `done` deletes the job; `later` brings it back after the delay. */
export type JobOutcome = { readonly kind: 'done' } | { readonly kind: 'later'; readonly delayMs: number };

/**
 * Hands effects to nodes (E1): BullMQ on Redis, in-process when embedded. Delivery is at least once; `claim` decides
 * who runs an effect. Enqueueing a job that is already queued changes nothing. Tenants get slots in turn, and within a
 * tenant its agents and workflows do, however many jobs one of them has queued.
 *
 * A job that a dead worker took stays assigned to it for some time. A caller that knows of the death, because it just
 * got the partition's lease or saw the worker's node lease end, enqueues the job with a `token` (the lease's grant, or
 * the dead incarnation): a job that a worker has taken is then queued a second time, once for each token.
 * Implemented by `EmbeddedEffectQueue` (effects/embedded-effect-queue.ts) and `BullmqEffectQueue`
 * (redis/bullmq-effect-queue.ts).
 */
export interface EffectQueue {
  open(): Promise<void>;
  enqueue(job: EffectJob, delayMs?: number, token?: string): Promise<void>;
  /** Starts taking jobs from the queues. The returned function stops taking, waits for running jobs and resolves. */
  work(queues: readonly string[], concurrency: number, run: RunJob): Promise<() => Promise<void>>;
  /**
   * Reserves a slot for an effect of that queue which an actor is about to commit. Null when no slot is free for its
   * flow: the effect must be enqueued.
   */
  reserve(queue: string, effect: Pick<EffectJob, 'address' | 'fairnessKey'>): EffectSlot | null;
  /** Starts an attempt of the effect that a job points to. `over` and `claim` are as in `EffectLedger.claimEffect`. */
  claim(job: EffectJob, runner: string, ttlMs: number, over?: string, claim?: string): Promise<ClaimOutcome>;
  close(): Promise<void>;
}
