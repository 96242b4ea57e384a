import type { ActorStore, Commit, Lease, MailboxEntry } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { EffectJob } from '../effect-queue.ts';
import { SvcError, toSvcError } from '../errors.ts';
import type { Locator } from '../locator.ts';
import type { Message } from '../message.ts';
import type { Archive } from '../projection/archive.ts';
import type { ProjectedCommit } from '../projection/projected-commit.ts';
import type { Registry } from '../registry.ts';
import type { ActorCache } from '../turns/actor-cache.ts';
import type { RetrySettings } from '../turns/kernel-messages.ts';
import { decodeEntry, isReadable, UNREADABLE } from '../turns/loading.ts';
import { packCommit } from '../turns/pack-commit.ts';
import { isAside, type Payloads } from '../turns/payload.ts';
import { commitPatiently } from './commit-patiently.ts';
import type { ReplacedStates } from './replaced-states.ts';
import { type Handling, runBatch } from './run-batch.ts';

export interface KernelParts {
  readonly store: ActorStore;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  readonly archive: Archive;
  readonly cache: ActorCache;
  /** Takes the states stored aside that a commit has replaced. */
  readonly replaced: Pick<ReplacedStates, 'add'>;
  readonly clock: Clock;
  readonly retry: RetrySettings;
  /** Most entries a batch takes. */
  readonly batchLimit: number;
  /** Whether each turn is recorded in the journal (design R3). */
  readonly ledger: boolean;
  /** Commits that the store refused; counted up here. */
  readonly counts: { fenced: number };
  readonly warn: (message: string, error: unknown) => void;
}

const USUAL: Handling = { drainLimit: 100 };
/** How long the commit of a stopping node is repeated while the store is not reachable. */
const DRAIN_MS = 5_000;

/** What a committed batch sets going. */
export interface Committed {
  readonly commit: Commit;
  /** Store time of the commit. */
  readonly at: number;
  readonly owes: boolean;
  readonly jobs: readonly EffectJob[];
  readonly projected: ProjectedCommit;
}

/**
 * Serves one partition under one lease: takes its mailbox batch by batch, runs the turns, commits. Batches are
 * strictly one after another; a fenced commit ends it for good (design K4).
 */
export class PartitionServer {
  readonly lease: Lease;
  readonly #parts: KernelParts;
  readonly #onCommitted: (committed: Committed) => void;
  #cursor: number;
  #lost = false;
  #drainUntil = Number.POSITIVE_INFINITY;
  #tail: Promise<void> = Promise.resolve();

  constructor(lease: Lease, cursor: number, parts: KernelParts, onCommitted: (committed: Committed) => void) {
    this.lease = lease;
    this.#cursor = cursor;
    this.#parts = parts;
    this.#onCommitted = onCommitted;
  }

  get cursor(): number {
    return this.#cursor;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Stops serving: what is cached may be stale from now on, and a commit under way will be fenced or is done. */
  lose(): void {
    this.#lost = true;
    this.#parts.cache.dropPartition(this.lease.partition);
  }

  /** Handles entries and all that wait behind them. Resolves when none is left or the lease is lost. */
  serve(first: readonly MailboxEntry[]): Promise<void> {
    return this.#exclusive(async () => {
      // Entries behind a cursor that moved while this call waited were handled by the batch that moved it.
      let entries: readonly MailboxEntry[] = first.filter((entry) => entry.seq > this.#cursor);
      while (entries.length > 0 && !this.#lost && !this.#draining()) entries = await this.#serveBatch(entries);
    });
  }

  /** Resolves when what runs now has committed, or the store was not reachable for long; nothing is served after. */
  drain(): Promise<void> {
    this.#drainUntil = this.#parts.clock.monotonic() + DRAIN_MS;
    return this.#exclusive(async () => {});
  }

  #draining(): boolean {
    return this.#drainUntil < Number.POSITIVE_INFINITY;
  }

  /** Removes an archived actor from the store; false when its record is another one than the archived. */
  forget(address: Address, archived: string): Promise<boolean> {
    return this.#exclusive(async () => {
      const { store, cache } = this.#parts;
      if (this.#lost) return false;
      const record = cache.get(address)?.text ?? (await store.load(this.lease.partition, [address]))[0];
      if (record !== archived) return false;
      cache.drop(address);
      const forgotten = await store.forget(this.lease, [address]);
      if (!forgotten) this.lose();
      return forgotten;
    });
  }

  /** One thing at a time: batches and removals never overlap. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#tail.then(work);
    this.#tail = run.then(
      () => undefined,
      () => undefined,
    );
    return run;
  }

  /**
   * A batch that cannot be written is halved until the entry that makes it so stands alone. That one is a failing
   * message like any other (design K6); it never stops those behind it.
   */
  async #serveBatch(entries: readonly MailboxEntry[]): Promise<readonly MailboxEntry[]> {
    try {
      return await this.#handle(entries, USUAL);
    } catch (thrown) {
      if (toSvcError(thrown).code === 'unavailable' || this.#lost) throw thrown;
      if (entries.length > 1) return this.#serveBatch(entries.slice(0, Math.ceil(entries.length / 2)));
      return this.#serveAlone(entries, thrown);
    }
  }

  async #serveAlone(entry: readonly MailboxEntry[], thrown: unknown): Promise<readonly MailboxEntry[]> {
    const error = toSvcError(thrown);
    this.#parts.warn(`entry ${entry[0]?.seq} of ${this.lease.partition} cannot be committed`, error);
    const failAll = thrown instanceof Error ? thrown.message : error.message;
    const careful: readonly Handling[] = [
      // A retry that drains many messages: find the one.
      { drainLimit: 1 },
      { drainLimit: 1, failAll },
      { drainLimit: 1, bury: error },
    ];
    for (const [step, handling] of careful.entries()) {
      try {
        return await this.#handle(entry, handling);
      } catch (again) {
        if (toSvcError(again).code === 'unavailable' || step === careful.length - 1) throw again;
      }
    }
    return [];
  }

  async #handle(entries: readonly MailboxEntry[], handling: Handling): Promise<readonly MailboxEntry[]> {
    const messages: (Message | SvcError)[] = [];
    for (const entry of entries) messages.push(await decodeEntry(this.#parts.payloads, entry.body));
    try {
      return await this.#commitTurns(entries, messages, handling);
    } catch (thrown) {
      // Handlers may have touched what they were given, and nothing of it was written.
      for (const { to } of messages.filter(isReadable)) this.#parts.cache.drop(to);
      throw thrown;
    }
  }

  async #commitTurns(
    entries: readonly MailboxEntry[],
    messages: readonly (Message | SvcError)[],
    handling: Handling,
  ): Promise<readonly MailboxEntry[]> {
    const { payloads, locator, ledger, cache } = this.#parts;
    const batch = await runBatch(this.#parts, this, entries, messages, handling);
    const last = entries[entries.length - 1];
    if (last === undefined || batch === null) return [];
    const cursor = { after: this.#cursor, upTo: last.seq, upToAt: last.at };
    const packed = await packCommit(batch, this.lease, cursor, { payloads, locator, ledger });
    const isOver = (): boolean => this.#lost || this.#parts.clock.monotonic() > this.#drainUntil;
    const outcome = await commitPatiently(this.#parts, packed.commit, isOver);
    if (outcome.kind === 'fenced') {
      this.lose();
      return [];
    }
    const { partition } = this.lease;
    this.#cursor = last.seq;
    for (const work of batch.writes.works.values()) {
      const { resident } = work;
      const { address, text, owned } = resident;
      resident.record = work.record;
      const written = packed.texts.get(address);
      if (written !== undefined) {
        if (owned && text !== null) this.#parts.replaced.add({ partition, address, text });
        resident.text = written;
        resident.owned = isAside(written);
      }
      // A later holder may have changed it when the lease was lost meanwhile.
      if (resident.text !== null && !this.#lost) cache.put(resident);
    }
    const jobs = packed.commit.effectsOpened.map(({ id, queue, address }) => ({ id, queue, address, partition }));
    const targets = messages.map((message) => (message instanceof SvcError ? UNREADABLE : message.to));
    const projected = { upTo: last.seq, epoch: this.lease.epoch, entries, targets, rows: batch.rows };
    this.#onCommitted({ commit: packed.commit, at: outcome.at, owes: outcome.owes, jobs, projected });
    return outcome.next;
  }
}
