import { extname } from 'node:path';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Lease } from '../actor-store.ts';
import { RenewalTimes } from './kept-grants.ts';

/** Connection data for the lease thread. */
export interface LeaseWorkerData {
  readonly urls: string | readonly string[];
  readonly prefix: string;
  readonly hasTags: boolean;
  /** Port that receives `RenewedAside`. */
  readonly answers: MessagePort;
}

/** A lease with the server life that granted it (functions/_prelude.lua). */
export interface GrantedLease {
  readonly lease: Lease;
  readonly life: string;
}

/** Messages from the main thread. Each one also proves that its event loop is running. */
export type LeaseNote =
  | { readonly kind: 'alive' }
  | { readonly kind: 'renewed'; readonly granted: GrantedLease; readonly ttlMs: number }
  | { readonly kind: 'released'; readonly grant: string }
  | { readonly kind: 'joined'; readonly node: string; readonly incarnation: string; readonly ttlMs: number }
  | { readonly kind: 'frozen'; readonly ms: number }
  | { readonly kind: 'left'; readonly node: string; readonly incarnation: string };

/** Leases that the lease thread renewed. `at` is when it asked, milliseconds of `process.hrtime`. */
export interface RenewedAside {
  readonly grants: readonly string[];
  readonly at: number;
}

interface LeaseThreadOptions extends Omit<LeaseWorkerData, 'answers' | 'hasTags'> {
  /** Whether the store uses slot tags; known once the store is open. */
  readonly hasTags: () => boolean;
  readonly warn: (warning: string) => void;
}

const SIGNS_A_TERM = 6;
const MAX_HEAP_MB = 32;

/**
 * Renews the leases of this process while its event loop is blocked: a busy node is slow, not dead (decision 0031). A
 * thread with its own connection gets every renewal made here, and regular signs that this event loop runs. When the
 * signs stop it renews the same leases. It starts with the first renewal.
 */
export class LeaseThread {
  readonly #options: LeaseThreadOptions;
  #worker: Worker | null = null;
  #answers: MessagePort | null = null;
  #signs: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** When the thread requested a renewal that was granted. */
  readonly #renewed = new RenewalTimes();

  constructor(options: LeaseThreadOptions) {
    this.#options = options;
  }

  renewed(lease: Lease, life: string, ttlMs: number): void {
    this.#renewed.drop(lease.grant);
    this.#start(ttlMs);
    this.#post({ kind: 'renewed', granted: { lease, life }, ttlMs });
  }

  released({ grant }: Lease): void {
    this.#renewed.drop(grant);
    this.#post({ kind: 'released', grant });
  }

  joined(node: string, incarnation: string, ttlMs: number): void {
    this.#start(ttlMs);
    this.#post({ kind: 'joined', node, incarnation, ttlMs });
  }

  left(node: string, incarnation: string): void {
    this.#post({ kind: 'left', node, incarnation });
  }

  /**
   * When the thread last requested a renewal that was granted, as `performance.now()`. Null when it has done none since
   * the last renewal here.
   */
  renewedAt({ grant }: Lease): number | null {
    // Read at once: an event loop that was blocked decides about its leases before it processes events.
    this.#readRenewals();
    const at = this.#renewed.of(grant);
    return at === null ? null : performance.now() - (hrtimeMs() - at);
  }

  /** Stops the renewals of the thread for `ms` milliseconds. */
  freeze(ms: number): void {
    this.#post({ kind: 'frozen', ms });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#signs);
    await this.#worker?.terminate();
  }

  /** Reads what the thread has posted. Unread posts would stay in the port. */
  #readRenewals(): void {
    for (let found = this.#receive(); found !== null; found = this.#receive())
      this.#renewed.note(found.grants, found.at);
  }

  #receive(): RenewedAside | null {
    const found: { message: RenewedAside } | undefined =
      this.#answers === null ? undefined : receiveMessageOnPort(this.#answers);
    return found?.message ?? null;
  }

  #start(ttlMs: number): void {
    if (this.#worker !== null || this.#isClosed) return;
    const { urls, prefix, hasTags, warn } = this.#options;
    const { port1, port2 } = new MessageChannel();
    const workerData: LeaseWorkerData = { urls, prefix, hasTags: hasTags(), answers: port2 };
    // The file has the same extension as this one, so it works from sources and from the package. It gets no
    // environment variables.
    const file = new URL(`./lease-worker${extname(import.meta.filename)}`, import.meta.url);
    const options = { workerData, transferList: [port2], env: {}, execArgv: [], stdin: false };
    const worker = new Worker(file, { ...options, resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    worker.on('error', (error) =>
      warn(`the thread that renews leases ended; the next renewal starts another: ${String(error)}`),
    );
    // The next renewal starts a new thread.
    worker.on('exit', () => {
      clearInterval(this.#signs);
      port1.close();
      this.#worker = null;
      this.#answers = null;
    });
    worker.unref();
    port1.unref();
    this.#worker = worker;
    this.#answers = port1;
    const sign = (): void => {
      this.#post({ kind: 'alive' });
      this.#readRenewals();
      this.#renewed.dropBefore(hrtimeMs() - ttlMs);
    };
    this.#signs = setInterval(sign, ttlMs / SIGNS_A_TERM).unref();
  }

  #post(note: LeaseNote): void {
    this.#worker?.postMessage(note);
  }
}

const hrtimeMs = (): number => Number(process.hrtime.bigint()) / 1e6;
