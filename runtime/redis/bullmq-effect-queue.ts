import { setTimeout as pause } from 'node:timers/promises';
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import type { ClaimOutcome, EffectLedger } from '../actor-store.ts';
import type { EffectJob, EffectQueue, JobOutcome } from '../effect-queue.ts';
import { SvcError } from '../errors.ts';
import { type Connection, connect } from './connection.ts';

export interface BullmqEffectQueueOptions {
  /** Redis URL or the URLs of a Cluster's nodes; see redis-url.ts. */
  readonly urls: string | readonly string[];
  readonly ledger: Pick<EffectLedger, 'claimEffect'>;
  /** In front of all keys, with the queue's name as hash tag behind it. */
  readonly prefix?: string;
  /** How long a job of a dead worker stays its; renewed at half time. */
  readonly lockMs?: number;
  /** How often workers look for jobs of dead ones: such a job comes back within `lockMs + 2 * stalledEveryMs`. */
  readonly stalledEveryMs?: number;
  /** Told about faults of the connection and of jobs; BullMQ goes on by itself. */
  readonly onFault: (error: unknown) => void;
}

type Run = (job: EffectJob) => Promise<JobOutcome>;
type PointerData = Pick<EffectJob, 'partition' | 'address'>;
type PointerJob = Job<PointerData, null, 'effect'>;

const LOCK_MS = 6_000;
const STALLED_EVERY_MS = 2_000;
const ANSWER_WITHIN_MS = 5_000;
/** A queue's event stream is of no use here; BullMQ keeps 10,000 entries unless told. */
const EVENTS_KEPT = 100;

/**
 * Hands effects to the nodes of a cluster through BullMQ (design E1). A job's id is its effect's id, so queueing it
 * again changes nothing while it waits, is delayed or runs; a job that ended leaves no trace, so the id can be queued
 * again. A job that is lost or fails is never the truth: the effect's record is, and the sweep of the partition's
 * holder brings it back.
 */
export class BullmqEffectQueue implements EffectQueue {
  readonly #options: BullmqEffectQueueOptions;
  readonly #queues = new Map<string, Queue<PointerData, null, 'effect'>>();
  readonly #workers = new Set<Worker<PointerData, null, 'effect'>>();
  #client: Connection | null = null;

  constructor(options: BullmqEffectQueueOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    if (this.#client !== null) return;
    this.#client = connect(this.#options.urls, 'svc-effects', 'jobs');
    this.#client.on('error', this.#options.onFault);
  }

  async enqueue(job: EffectJob, delayMs = 0): Promise<void> {
    const queue = this.#queue(job.queue);
    const data: PointerData = { partition: job.partition, address: job.address };
    const options = {
      jobId: job.id,
      removeOnComplete: true,
      removeOnFail: true,
      delay: Math.max(0, Math.ceil(delayMs)),
    };
    await answered(queue.add('effect', data, options));
  }

  /** `concurrency` bounds each of the queues. */
  async work(queues: readonly string[], concurrency: number, run: Run): Promise<() => Promise<void>> {
    const workers = queues.map((name) => this.#startWorker(name, concurrency, run));
    await Promise.all(workers.map((worker) => worker.waitUntilReady()));
    return async () => {
      await Promise.all(workers.map((worker) => worker.close()));
      for (const worker of workers) this.#workers.delete(worker);
    };
  }

  claim(job: EffectJob, runner: string, ttlMs: number): Promise<ClaimOutcome> {
    return this.#options.ledger.claimEffect(job.partition, job.id, runner, ttlMs);
  }

  /** Waits for running jobs; stop the runner first. */
  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close()));
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
    this.#workers.clear();
    this.#queues.clear();
    this.#client?.disconnect();
    this.#client = null;
  }

  #startWorker(name: string, concurrency: number, run: Run): Worker<PointerData, null, 'effect'> {
    const { lockMs = LOCK_MS, stalledEveryMs = STALLED_EVERY_MS, onFault } = this.#options;
    const worker = new Worker<PointerData, null, 'effect'>(
      queueName(name),
      (job, token) => this.#process(name, job, token, run),
      {
        connection: this.#connected(),
        prefix: this.#prefix(name),
        concurrency,
        lockDuration: lockMs,
        stalledInterval: stalledEveryMs,
        // The attempt is counted and bounded in the effect's record.
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      },
    );
    worker.on('error', onFault);
    worker.on('failed', (_job, error) => onFault(error));
    this.#workers.add(worker);
    return worker;
  }

  async #process(queue: string, job: PointerJob, token: string | undefined, run: Run): Promise<null> {
    if (job.id === undefined) throw new SvcError('internal', 'a job without an id');
    const outcome = await run({ id: job.id, partition: job.data.partition, address: job.data.address, queue });
    if (outcome.kind === 'done') return null;
    await job.moveToDelayed(Date.now() + Math.max(0, Math.ceil(outcome.delayMs)), token);
    throw new DelayedError();
  }

  #queue(name: string): Queue<PointerData, null, 'effect'> {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new Queue<PointerData, null, 'effect'>(queueName(name), {
        connection: this.#connected(),
        prefix: this.#prefix(name),
        streams: { events: { maxLen: EVENTS_KEPT } },
      });
      queue.on('error', this.#options.onFault);
      this.#queues.set(name, queue);
    }
    return queue;
  }

  #connected(): Connection {
    if (this.#client === null) throw new SvcError('unavailable', 'the effect queue is not open');
    return this.#client;
  }

  /** All keys of one queue share a hash tag: BullMQ's scripts touch several at once (Redis Cluster). */
  #prefix(name: string): string {
    return `${this.#options.prefix ?? 'svc-effects'}:{${queueName(name)}}`;
  }
}

/** BullMQ waits for a lost connection without end; a caller of ours is told, and may repeat: the id makes it harmless. */
async function answered(call: Promise<unknown>): Promise<void> {
  const silence = new AbortController();
  const overdue = pause(ANSWER_WITHIN_MS, true, { signal: silence.signal, ref: false });
  try {
    const late = await Promise.race([call.then(() => false), overdue]);
    if (late) throw new Error(`no answer within ${ANSWER_WITHIN_MS} ms`);
  } catch (cause) {
    throw new SvcError('unavailable', 'the effect queue did not answer', { cause });
  } finally {
    overdue.catch(() => {});
    call.catch(() => {});
    silence.abort();
  }
}

/** BullMQ refuses `:` in names; braces would open a second hash tag. Other names stay readable and distinct. */
function queueName(name: string): string {
  return encodeURIComponent(name).replaceAll('%', '=');
}
