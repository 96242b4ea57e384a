import { type Job, Queue, Worker } from 'bullmq';
import type { ClaimOutcome, EffectLedger } from '../actor-store.ts';
import { longTimer } from '../clock.ts';
import type { EffectJob, EffectQueue, EffectSlot, JobOutcome, RunJob } from '../effect-queue.ts';
import { fairnessPart, flowOf } from '../effects/effect-envelope.ts';
import { FairOrder, LocalSlots } from '../effects/local-slots.ts';
import { SvcError } from '../errors.ts';
import { type Connection, connect } from './connection.ts';

interface BullmqEffectQueueOptions {
  /** Redis URL, or the URLs of a Cluster's nodes; see `parseRedisUrls` (connection.ts). */
  readonly urls: string | readonly string[];
  readonly ledger: Pick<EffectLedger, 'claimEffect'>;
  /** Called for faults of the connection and of jobs, from which BullMQ recovers by itself. */
  readonly onFault: (error: unknown) => void;
}

type PointerData = Pick<EffectJob, 'id' | 'partition' | 'address' | 'fairnessKey'>;
type PointerJob = Job<PointerData, null, 'effect'>;
/**
 * A worker whose lock timer can be ended. BullMQ ends it only when its jobs have finished, and a worker without its
 * Redis never reports that.
 */
class EffectWorker extends Worker<PointerData, null, 'effect'> {
  stopRenewing(): Promise<void> {
    return this.lockManager.close();
  }
}

/** A worker's running jobs, and its connection. */
interface Working {
  readonly running: Set<Promise<JobOutcome>>;
  /** Shared with no other worker: when one cannot be closed, its connection is cut, and nothing else of the node. */
  readonly connection: Connection;
}

/** How long a dead worker's job stays assigned to it. Live workers renew at half of this time. */
const LOCK_MS = 6_000;
/** How often workers look for jobs of dead ones. Such a job comes back within `LOCK_MS + 2 * STALLED_EVERY_MS`. */
const STALLED_EVERY_MS = 2_000;
/** How soon a worker whose connection was closed reconnects. BullMQ's default is 15 s. */
const ASK_AGAIN_MS = 1_000;
const ANSWER_WITHIN_MS = 5_000;
const CLOSE_WITHIN_MS = 3_000;
/** Most jobs of a process that wait for their time. The sweep finds those above this number when they are due. */
const MOST_WAITING = 10_000;
/** Entries kept in a queue's event stream, which is not used here. BullMQ's default is 10,000. */
const EVENTS_KEPT = 100;

/**
 * Hands effects to the nodes of a cluster through BullMQ (E1). A job's id is its effect's id, so queueing it again
 * changes nothing while it waits, is delayed or runs. A job that ended leaves no trace, so its id can be queued again.
 * Tenants are served in turn, and within a tenant its flows (`FairOrder`). A job that this process may run and has a
 * free slot for does not go through Redis (`LocalSlots`). The effect's record decides, never the job: when a job is
 * lost or fails, the sweep of the partition's holder enqueues the effect again.
 *
 * Jobs that must wait do so in the memory of a process. BullMQ would keep them in Redis with a time of the machine that delays
 * them, and release them by the time of any other: a node whose clock is a day ahead would delay a retry of a second by a day.
 */
export class BullmqEffectQueue implements EffectQueue {
  readonly #options: BullmqEffectQueueOptions;
  readonly #queues = new Map<string, Queue<PointerData, null, 'effect'>>();
  readonly #workers = new Map<EffectWorker, Working>();
  readonly #orders = new Map<string, FairOrder>();
  /** Slots of this process for its own effects, by queue. */
  readonly #localSlots = new Map<string, LocalSlots>();
  /** Jobs that wait for their time, by effect. */
  readonly #waiting = new Map<string, { readonly dueAt: number; readonly cancel: () => void }>();
  /** Jobs to be queued again when BullMQ has removed what it has of them. */
  readonly #later = new WeakMap<PointerJob, { readonly job: EffectJob; readonly delayMs: number }>();
  readonly #adding = new Set<Promise<void>>();
  #client: Connection | null = null;

  constructor(options: BullmqEffectQueueOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    this.#client ??= this.#connect();
  }

  #connect(): Connection {
    const client = connect(this.#options.urls, 'svc-effects', 'jobs');
    client.on('error', this.#options.onFault);
    return client;
  }

  async enqueue(job: EffectJob, delayMs = 0, token?: string): Promise<void> {
    if (delayMs <= 0 && token === undefined && this.#localSlots.get(job.queue)?.take(job) === true) return;
    await this.#addAfter(job, delayMs, token);
  }

  reserve(queue: string, effect: Pick<EffectJob, 'address' | 'fairnessKey'>): EffectSlot | null {
    return this.#localSlots.get(queue)?.reserve(effect) ?? null;
  }

  /** Adds a job now, or when its time has come. */
  async #addAfter(job: EffectJob, delayMs: number, token?: string): Promise<void> {
    if (delayMs <= 0) return this.#add(job, token);
    const dueAt = performance.now() + delayMs;
    const known = this.#waiting.get(job.id);
    if (known === undefined && this.#waiting.size >= MOST_WAITING) return;
    if (known !== undefined && known.dueAt <= dueAt && token === undefined) return;
    known?.cancel();
    const add = (): void => {
      this.#waiting.delete(job.id);
      this.#addBeside(job, 0, token);
    };
    this.#waiting.set(job.id, { dueAt, cancel: longTimer(delayMs, add, false) });
  }

  /** The same in the background: when it fails, the sweep enqueues the effect. */
  #addBeside(job: EffectJob, delayMs: number, token?: string): void {
    const adding = this.#addAfter(job, delayMs, token)
      .catch(this.#options.onFault)
      .finally(() => this.#adding.delete(adding));
    this.#adding.add(adding);
  }

  async #add(job: EffectJob, token?: string): Promise<void> {
    const queue = this.#queue(job.queue);
    const { id, partition, address, fairnessKey } = job;
    const data: PointerData = { id, partition, address, ...fairnessPart(fairnessKey) };
    const options = {
      jobId: token === undefined ? job.id : await this.#idBeside(queue, job.id, token),
      removeOnComplete: true,
      removeOnFail: true,
      priority: this.#order(job.queue).next(flowOf(job)),
    };
    await answered(queue.add('effect', data, options));
  }

  /**
   * Returns the id under which to queue a job a second time. The job of a dead worker keeps its id until its lock
   * expires and BullMQ has checked twice: up to 10 s.
   */
  async #idBeside(queue: Queue, id: string, token: string): Promise<string> {
    const taken = { state: 'unknown' };
    await answered(
      queue.getJobState(id).then((state) => {
        taken.state = state;
      }),
    );
    // A job id must not contain a colon.
    return taken.state === 'active' ? `${id}~${encodeURIComponent(token)}` : id;
  }

  /** Starts taking jobs. `concurrency` bounds each of the queues. */
  async work(queues: readonly string[], concurrency: number, run: RunJob): Promise<() => Promise<void>> {
    const workers = queues.map((name) => this.#startWorker(name, concurrency, run));
    await Promise.all(workers.map((worker) => worker.waitUntilReady()));
    return async () => {
      await Promise.all(workers.map((worker) => this.#stopWorker(worker)));
    };
  }

  claim(job: EffectJob, runner: string, ttlMs: number, over?: string, claim?: string): Promise<ClaimOutcome> {
    return this.#options.ledger.claimEffect(job.partition, job.id, runner, ttlMs, over, claim);
  }

  /** Waits for running jobs. Stop the runner first. */
  async close(): Promise<void> {
    await Promise.all([...this.#workers.keys()].map((worker) => this.#stopWorker(worker)));
    await within(CLOSE_WITHIN_MS, Promise.all([...this.#queues.values()].map((queue) => queue.close())));
    this.#drop();
  }

  /**
   * Closes a worker. BullMQ waits without end for a lost Redis while closing, so the worker's connections are cut after a
   * time limit. The process may take jobs of the queue again later.
   */
  async #stopWorker(worker: EffectWorker): Promise<void> {
    const working = this.#workers.get(worker);
    if (working === undefined) return;
    const { running, connection } = working;
    const local = this.#localSlots.get(nameOf(worker));
    this.#localSlots.delete(nameOf(worker));
    // A worker that waits for a lost Redis never reports that its jobs have finished, and keeps its timers.
    const closed = worker.close(connection.status !== 'ready');
    // It may fail while jobs still run; the result is checked below.
    closed.catch(() => undefined);
    while (running.size > 0) await Promise.allSettled(running);
    await local?.ended();
    if (!(await within(CLOSE_WITHIN_MS, closed))) {
      this.#options.onFault(new SvcError('unavailable', 'Redis did not answer while a worker stopped'));
      await worker.stopRenewing();
      connection.disconnect();
      worker.disconnect().catch(this.#options.onFault);
    }
    // Each of them ends within its own time limit.
    while (this.#adding.size > 0) await Promise.all(this.#adding);
    connection.disconnect();
    this.#workers.delete(worker);
  }

  #drop(): void {
    for (const { cancel } of this.#waiting.values()) cancel();
    this.#waiting.clear();
    this.#queues.clear();
    this.#client?.disconnect();
    this.#client = null;
  }

  #startWorker(name: string, concurrency: number, run: RunJob): EffectWorker {
    const { onFault } = this.#options;
    this.#connected();
    const connection = this.#connect();
    const running = new Set<Promise<JobOutcome>>();
    const tracked: RunJob = (job) => {
      const outcome = run(job).finally(() => running.delete(outcome));
      running.add(outcome);
      return outcome;
    };
    const local = new LocalSlots(
      Math.floor(concurrency / 2),
      run,
      (job, delayMs) => this.#addAfter(job, delayMs),
      onFault,
    );
    const worker = new EffectWorker(queueName(name), (job) => this.#process(name, job, tracked), {
      connection,
      prefix: prefixOf(name),
      concurrency: concurrency - local.slots,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_EVERY_MS,
      runRetryDelay: ASK_AGAIN_MS,
      // The effect's record counts and bounds the attempts.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on('error', onFault);
    worker.on('drained', () => this.#order(name).empty());
    worker.on('completed', (job) => this.#ended(job));
    worker.on('failed', (_job, error) => onFault(error));
    this.#workers.set(worker, { running, connection });
    this.#localSlots.set(name, local);
    return worker;
  }

  async #process(queue: string, job: PointerJob, run: RunJob): Promise<null> {
    this.#order(queue).taken(job.priority);
    const pointer = { ...job.data, queue };
    const outcome = await run(pointer);
    // While BullMQ has the job, another one of its id would not be added.
    if (outcome.kind === 'later') this.#later.set(job, { job: pointer, delayMs: outcome.delayMs });
    return null;
  }

  #ended(job: PointerJob): void {
    const later = this.#later.get(job);
    if (later !== undefined) this.#addBeside(later.job, later.delayMs);
  }

  #order(name: string): FairOrder {
    let order = this.#orders.get(name);
    if (order === undefined) {
      order = new FairOrder();
      this.#orders.set(name, order);
    }
    return order;
  }

  #queue(name: string): Queue<PointerData, null, 'effect'> {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new Queue<PointerData, null, 'effect'>(queueName(name), {
        connection: this.#connected(),
        prefix: prefixOf(name),
        streams: { events: { maxLen: EVENTS_KEPT } },
      });
      queue.on('error', this.#options.onFault);
      this.#queues.set(name, queue);
    }
    return queue;
  }

  #connected(): Connection {
    if (this.#client === null) throw new SvcError('unavailable', 'the effect queue is not open', { store: 'queue' });
    return this.#client;
  }
}

/** Prefix of all keys of a queue. They share a hash tag, because BullMQ's scripts use several of them at once (Redis Cluster). */
const prefixOf = (name: string): string => `svc-effects:{${queueName(name)}}`;

/**
 * Rejects with `unavailable` when BullMQ does not answer in time: it waits for a lost connection without end. The
 * caller may repeat, because the job id makes a repeat harmless.
 */
async function answered(call: Promise<unknown>): Promise<void> {
  try {
    if (await within(ANSWER_WITHIN_MS, call)) return;
  } catch (cause) {
    throw new SvcError('unavailable', 'the effect queue refused a job', { store: 'queue', cause });
  }
  const text = `the effect queue did not answer within ${ANSWER_WITHIN_MS} ms`;
  throw new SvcError('unavailable', text, { store: 'queue' });
}

/** Resolves to false when the call takes longer than `timeMs`. The later outcome of the call is ignored. */
async function within(timeMs: number, call: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), timeMs);
  call.catch(() => {});
  try {
    return await Promise.race([call.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** BullMQ refuses `:` in names, and braces would open a second hash tag. Other names stay readable and distinct. */
function queueName(name: string): string {
  return encodeURIComponent(name).replaceAll('%', '=');
}

const nameOf = (worker: { readonly name: string }): string => decodeURIComponent(worker.name.replaceAll('=', '%'));
