import type { ClaimOutcome } from './actor-store.ts';
import type { Address, Partition } from './address.ts';

/** A pointer to an effect record; the record, not the job, says what is to be done (E1). */
export interface EffectJob {
  readonly id: string;
  readonly partition: Partition;
  readonly address: Address;
  readonly queue: string;
  /** Which of its tenant's flows it counts as, see `ActorDefinition.fairnessKey`. */
  readonly fairnessKey?: string;
}

/** An effect that a commit opened as started by this process (`EffectOpen.started`). */
export interface StartedEffect {
  readonly attempt: number;
  /** Encoded request, not stored aside. */
  readonly body: string;
  /** `Clock.monotonic` when its commit was sent: its claim is at least as old as that. */
  readonly claimedAt: number;
  /** Of one that runs ahead of the commit that opens it: whether that happened. Until then the store does not know it. */
  readonly committed?: Promise<boolean>;
}

/** A place of this process, kept free for one effect. Ends with one call of either. */
export interface EffectPlace {
  /** Runs what was started; when it is to be done later, the job is queued. */
  run(job: EffectJob, started: StartedEffect): void;
  /** Nothing was started. */
  free(): void;
}

export type RunJob = (job: EffectJob, started?: StartedEffect) => Promise<JobOutcome>;

/** What a worker did with a job: `done` forgets it, `later` brings it back after the delay. */
export type JobOutcome = { readonly kind: 'done' } | { readonly kind: 'later'; readonly delayMs: number };

/**
 * Hands effects to nodes (E1): BullMQ on Redis, in-process when embedded. Delivery is at least once; `claim`
 * decides who runs an effect. Enqueueing a job that is queued already changes nothing. Tenants take turns, and
 * within a tenant its agents and workflows, however many jobs one of them has queued.
 *
 * A job that a dead worker took stays its own for some time. Whoever knows better, since it just got the partition's
 * lease or saw the worker's node lease end, says so with a `token` (the lease's grant, the dead life's id): a job that
 * some worker has taken is queued again beside that one, once for each token.
 * Implemented by `EmbeddedEffectQueue` (effects/embedded-effect-queue.ts) and `BullmqEffectQueue` (redis/bullmq-effect-queue.ts).
 */
export interface EffectQueue {
  open(): Promise<void>;
  enqueue(job: EffectJob, delayMs?: number, token?: string): Promise<void>;
  /** Starts taking jobs of the queues; the answer stops taking, waits for running ones and resolves. */
  work(queues: readonly string[], concurrency: number, run: RunJob): Promise<() => Promise<void>>;
  /**
   * A place for an effect of that queue which an actor is about to commit; null: none is free here for its flow, so it is
   * enqueued.
   */
  reserve(queue: string, effect: Pick<EffectJob, 'address' | 'fairnessKey'>): EffectPlace | null;
  /** Starts an attempt of the effect behind a job; `over` and `claim` as in `EffectLedger.claimEffect`. */
  claim(job: EffectJob, runner: string, ttlMs: number, over?: string, claim?: string): Promise<ClaimOutcome>;
  close(): Promise<void>;
}
