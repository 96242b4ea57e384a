import { parentPort, workerData } from 'node:worker_threads';
import { connect, masters } from './connection.ts';
import { FcallBatcher } from './fcall-batcher.ts';
import { HeldGrants } from './kept-grants.ts';
import { Keys } from './keys.ts';
import type { GrantedLease, LeaseNote, LeaseWorkerData, RenewedAside } from './lease-thread.ts';
import { renewLease } from './leases.ts';
import { loadLibrary, readLibrary } from './library.ts';

/**
 * Most terms that leases are renewed during a silence. An event loop that never runs again must not keep its partitions
 * from others.
 */
const MOST_TERMS = 5;
const LOOKS_A_TERM = 12;

/** Renews the leases that the main thread renewed last, while the main thread is silent. */
class LeaseWorker {
  readonly #data: LeaseWorkerData;
  readonly #calls: FcallBatcher;
  readonly #keys: Keys;
  readonly #held = new HeldGrants<GrantedLease>();
  #membership: { readonly node: string; readonly incarnation: string } | null = null;
  #ttlMs = 0;
  #heardAt = performance.now();
  #frozenUntil = 0;
  #isRenewing = false;
  #looking: NodeJS.Timeout | undefined;

  constructor(data: LeaseWorkerData) {
    this.#data = data;
    this.#keys = new Keys(data.prefix);
    if (data.hasTags) this.#keys.useTags();
    const connection = connect(data.urls, 'svc-leases', 'commands');
    // The main thread has a connection too and reports the faults of the server.
    connection.on('error', () => {});
    const library = readLibrary();
    const opened = connection.connect().then(() => loadLibrary(masters(connection), library));
    opened.catch(() => {});
    this.#calls = new FcallBatcher(connection, library, this.#keys, () => null);
  }

  receive(note: LeaseNote): void {
    this.#heardAt = performance.now();
    if (note.kind === 'renewed') {
      this.#held.renewed(note.granted, this.#heardAt);
      this.#lookEvery(note.ttlMs);
    } else if (note.kind === 'released') this.#held.drop(note.grant);
    else if (note.kind === 'left') this.#leave(note);
    else if (note.kind === 'frozen') this.#frozenUntil = this.#heardAt + note.ms;
    else if (note.kind === 'joined') {
      this.#membership = note;
      this.#lookEvery(note.ttlMs);
    }
  }

  /** Stops renewing the node lease that this process ended. A node also ends the leases of other nodes that died. */
  #leave({ node, incarnation }: { readonly node: string; readonly incarnation: string }): void {
    if (this.#membership?.node === node && this.#membership.incarnation === incarnation) this.#membership = null;
  }

  #lookEvery(ttlMs: number): void {
    if (ttlMs === this.#ttlMs) return;
    this.#ttlMs = ttlMs;
    clearInterval(this.#looking);
    this.#looking = setInterval(() => void this.#look(), ttlMs / LOOKS_A_TERM);
  }

  async #look(): Promise<void> {
    this.#held.dropBefore(this.#heardAt - this.#ttlMs / 2);
    const silentMs = performance.now() - this.#heardAt;
    if (this.#isRenewing || silentMs < this.#ttlMs / 3 || silentMs > MOST_TERMS * this.#ttlMs) return;
    if (performance.now() < this.#frozenUntil) return;
    this.#isRenewing = true;
    try {
      const at = Number(process.hrtime.bigint()) / 1e6;
      const [grants] = await Promise.all([this.#renewAll(), this.#extendSeat()]);
      this.#data.answers.postMessage({ grants, at } satisfies RenewedAside);
    } catch {
      // The server is unavailable: the next round tries again, and the main thread reports it.
    } finally {
      this.#isRenewing = false;
    }
  }

  /** Renews all leases that are left: the main thread renewed them in the last half term before its silence. */
  async #renewAll(): Promise<string[]> {
    const renewed = await Promise.all(
      this.#held.all.map(async ({ lease, life }) => {
        const isHeld = await renewLease(this.#calls, this.#keys, lease, this.#ttlMs, life);
        if (!isHeld) this.#held.drop(lease.grant);
        return isHeld ? [lease.grant] : [];
      }),
    );
    return renewed.flat();
  }

  async #extendSeat(): Promise<void> {
    const seat = this.#membership;
    if (seat === null) return;
    const { members, membersDue, membersVersion, membersChanges } = this.#keys;
    await this.#calls.call('extend', members, (keys, args) => {
      keys.push(members, membersDue, membersVersion, membersChanges);
      args.push(seat.node, seat.incarnation, Math.ceil(this.#ttlMs));
    });
  }
}

const worker = new LeaseWorker(workerData);
parentPort?.on('message', (note: LeaseNote) => worker.receive(note));
