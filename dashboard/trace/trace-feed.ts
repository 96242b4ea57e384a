import { actingTenant } from '../api/queries.ts';
import { nodeNow } from '../app/node-answers.ts';
import { bearer } from '../app/session.ts';
import { TraceModel } from './model.ts';
import type { ReadOrder, TraceHead, WorkerAnswer } from './trace-worker.ts';

/** Pause between two reads of a running trace, ms. */
const LIVE_MS = 1_000;
/** After its end a trace is read again after these times, ms: the ledger may get its last deliveries later. */
const AFTER_END_MS = [500, 1_000, 2_000, 5_000, 10_000];
/** Time after its end at which all deliveries of a trace are in the ledger. */
const ENDED_LONG_AGO_MS = 60_000;
/** Time between two updates of the picture, ms. */
const SHOWN_MS = 120;

export interface TraceState {
  readonly model: TraceModel;
  /** Changes with the model. */
  readonly version: number;
  readonly head: TraceHead | null;
  /** Whether the first complete read is running. */
  readonly isReading: boolean;
  readonly error: Error | null;
}

/** Keeps the model of one trace up to date: reads it in a worker, and repeats that while the trace runs. */
export class TraceFeed {
  readonly #trace: string;
  readonly #worker = new Worker(TRACE_WORKER_URL);
  readonly #listeners = new Set<() => void>();
  #state: TraceState = { model: new TraceModel(), version: 0, head: null, isReading: true, error: null };
  #next: TraceState = this.#state;
  #readsAfterEnd = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #showing: ReturnType<typeof setTimeout> | undefined;

  constructor(trace: string) {
    this.#trace = trace;
    this.#worker.addEventListener('message', ({ data }: MessageEvent<WorkerAnswer>) => this.#take(data));
    this.#worker.addEventListener('error', ({ message }) => this.#show({ error: new Error(message) }, true));
    this.readOn();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): TraceState => this.#state;

  /** Reads the data appended since the last read. */
  readonly readOn = (): void => {
    clearTimeout(this.#timer);
    bearer().then(
      (token) => {
        const order: ReadOrder = { baseUrl: location.origin, token, trace: this.#trace, tenant: actingTenant() };
        this.#worker.postMessage(order);
      },
      (error: unknown) => this.#show({ error: error instanceof Error ? error : new Error(String(error)) }, true),
    );
  };

  close(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#showing);
    this.#worker.terminate();
  }

  #take(answer: WorkerAnswer): void {
    if (answer.kind === 'failed') {
      this.#show({ error: new Error(answer.message), isReading: false }, true);
      // A node that restarts: the data stays, and reading continues later.
      if (answer.status === 0 || answer.status >= 500) this.#timer = setTimeout(this.readOn, LIVE_MS * 3);
      return;
    }
    const { model } = this.#state;
    model.append(answer.batch);
    if (answer.isLast) model.readAt(answer.head.status === 'running' ? nodeNow() : null);
    const isFirst = this.#state.head === null;
    const isReading = this.#next.isReading && !answer.isLast;
    this.#show({ head: answer.head, isReading, error: null }, isFirst || answer.isLast);
    if (answer.isLast) this.#readLater(answer.head);
  }

  #readLater({ status, ended_at: endedAt }: TraceHead): void {
    if (status === 'running') {
      this.#readsAfterEnd = 0;
      this.#timer = setTimeout(this.readOn, LIVE_MS);
      return;
    }
    if (nodeNow() - Date.parse(endedAt ?? '') > ENDED_LONG_AGO_MS) return;
    const waitMs = AFTER_END_MS[this.#readsAfterEnd];
    this.#readsAfterEnd += 1;
    if (waitMs !== undefined) this.#timer = setTimeout(this.readOn, waitMs);
  }

  #show(change: Partial<TraceState>, now: boolean): void {
    this.#next = { ...this.#next, ...change, version: this.#state.model.version };
    if (now) this.#publish();
    else this.#showing ??= setTimeout(() => this.#publish(), SHOWN_MS);
  }

  #publish(): void {
    clearTimeout(this.#showing);
    this.#showing = undefined;
    const { head, version, isReading, error } = this.#next;
    const before = this.#state.head;
    // A call to the run of the trace adds a link without a delivery.
    const isSameHead = head?.status === before?.status && head?.links.length === before?.links.length;
    const isSame = isSameHead && version === this.#state.version;
    if (isSame && isReading === this.#state.isReading && error === this.#state.error) return;
    this.#state = this.#next;
    for (const listener of this.#listeners) listener();
  }
}
