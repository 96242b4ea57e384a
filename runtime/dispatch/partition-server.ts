import type { Commit, Lease, MailboxEntry } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { EffectSettle } from '../effect-ledger.ts';
import type { EffectJob } from '../effect-queue.ts';
import { SvcError, toSvcError } from '../errors.ts';
import type { Message } from '../message.ts';
import type { ProjectedCommit } from '../projection/projected-commit.ts';
import { decodeEntry, isReadable, UNREADABLE } from '../turns/loading.ts';
import { packCommit } from '../turns/pack-commit.ts';
import { isAside } from '../turns/payload.ts';
import { closeEnded } from './close-ended.ts';
import { commitPatiently } from './commit-patiently.ts';
import { handleInParts, USUAL } from './in-parts.ts';
import type { KernelParts } from './kernel-parts.ts';
import { OwnResults } from './own-results.ts';
import { Progress } from './progress.ts';
import { type Handling, runBatch } from './run-batch.ts';
import type { Starting } from './starts-here.ts';
import { StoreClock } from './store-clock.ts';

/** How long the commit of a stopping node is repeated while the store is not reachable. */
const DRAIN_MS = 5_000;

/** How soon the archive is asked again when it does not answer. */
const LOOK_AGAIN_MS = 500;

const older = (closed: number): SvcError =>
  new SvcError('conflict', `the store lost its last writes; ${closed} actors of this partition had ended`);

/** What a committed batch sets going. */
export interface Committed {
  readonly commit: Commit;
  /** Store time of the commit. */
  readonly at: number;
  readonly owes: boolean;
  readonly jobs: readonly EffectJob[];
  readonly starting: Pick<Starting, 'begin'>;
  readonly projected: ProjectedCommit;
}

export interface ServedEvents {
  committed(done: Committed): void;
  /** The lease turned out to be lost while a result was taken. */
  lost(): void;
}

/**
 * Serves one partition under one lease: takes its mailbox batch by batch, runs the turns, commits. Batches are
 * strictly one after another; a fenced commit ends it for good (design K4).
 */
export class PartitionServer {
  readonly lease: Lease;
  readonly #parts: KernelParts;
  readonly #on: ServedEvents;
  /** Also what is left to compare with when the lease was lost. */
  readonly progress: Progress;
  /** The clock of the store that holds this partition: turns and timers run on it. */
  readonly clock: StoreClock;
  #lost = false;
  #drainUntil = Number.POSITIVE_INFINITY;
  #tail: Promise<void> = Promise.resolve();
  readonly #results = new OwnResults();
  /** Resolves when what the archive knows as ended is closed: before anything is served, and before effects are run. */
  readonly lookedThrough: Promise<void>;

  constructor(
    granted: {
      readonly lease: Lease;
      readonly cursor: number;
      readonly at: number;
      readonly mayBeOlder: boolean;
    },
    parts: KernelParts,
    on: ServedEvents,
  ) {
    this.lease = granted.lease;
    this.progress = new Progress(granted.cursor);
    this.clock = new StoreClock(parts.clock, granted.at);
    this.#parts = parts;
    this.#on = on;
    this.lookedThrough = granted.mayBeOlder ? this.#exclusive(() => this.#lookThrough()) : Promise.resolve();
  }

  get cursor(): number {
    return this.progress.cursor;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Stops serving: what is cached may be stale from now on, and a commit under way will be fenced or is done. */
  lose(): void {
    this.#lost = true;
    this.#parts.cache.dropPartition(this.lease.partition);
  }

  async #lookThrough(): Promise<void> {
    const { clock, warn } = this.#parts;
    const { partition } = this.lease;
    while (!this.#lost && !this.#draining()) {
      try {
        const closed = await closeEnded(this.#parts, this.lease, this.cursor);
        if (closed === null) return this.#fencedOff();
        if (closed > 0) warn(`${partition} came back as it was before: what had ended since is closed`, older(closed));
        return;
      } catch (thrown) {
        warn(`${partition} is not served until the archive answers`, toSvcError(thrown));
        await new Promise<void>((resolve) => clock.after(LOOK_AGAIN_MS, resolve));
      }
    }
  }

  #fencedOff(): void {
    this.lose();
    this.#on.lost();
  }

  /** Handles entries and all that wait behind them. Resolves when none is left or the lease is lost. */
  serve(first: readonly MailboxEntry[]): Promise<void> {
    // Entries behind a cursor that moved while this call waited were handled by the batch that moved it.
    return this.#exclusive(() => this.#serveAll(first.filter((entry) => entry.seq > this.cursor)));
  }

  /**
   * Takes the result of an effect that ran in this process: written, handled and committed as one step, when nothing
   * else waits in the mailbox. False: nothing was written, or nobody knows; it is sent like any other.
   */
  settle(result: EffectSettle): Promise<boolean> {
    return this.#results.add(result, () => {
      const { partition } = this.lease;
      // What waits behind it is looked for again with the next bell, or without one.
      this.#exclusive(() => this.#serveResults()).catch((thrown: unknown) =>
        this.#parts.warn(`what follows a result in ${partition} waits`, toSvcError(thrown)),
      );
    });
  }

  async #serveResults(): Promise<void> {
    const { results, done } = this.#results.take();
    let next: readonly MailboxEntry[] | null = null;
    try {
      if (!this.#lost && !this.#draining()) next = await this.#handle(this.#entriesOf(results), USUAL, results);
    } catch (thrown) {
      // Sent like any other it comes again, and what is wrong with it is dealt with there.
      this.#parts.counts.resultsFailed += 1;
      const { partition } = this.lease;
      this.#parts.warn(`${results.length} results of ${partition} are sent: their turns failed`, toSvcError(thrown));
    }
    done(next !== null);
    if (next !== null) await this.#serveAll(next);
    if (this.#lost) this.#on.lost();
  }

  #entriesOf(results: readonly EffectSettle[]): MailboxEntry[] {
    const at = this.clock.now();
    return results.map(({ delivery }, index) => ({ seq: this.cursor + 1 + index, at, body: delivery.body }));
  }

  async #serveAll(first: readonly MailboxEntry[]): Promise<void> {
    let entries = first;
    while (entries.length > 0 && !this.#lost && !this.#draining()) entries = await this.#serveBatch(entries);
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

  #serveBatch(entries: readonly MailboxEntry[]): Promise<readonly MailboxEntry[]> {
    const { partition } = this.lease;
    return handleInParts(entries, {
      handle: async (part, handling) => (await this.#handle(part, handling)) ?? [],
      isLost: () => this.#lost,
      unfit: ({ seq }, error) => this.#parts.warn(`entry ${seq} of ${partition} cannot be committed`, error),
    });
  }

  /** Null: nothing was written. */
  async #handle(
    entries: readonly MailboxEntry[],
    handling: Handling,
    settles: readonly EffectSettle[] = [],
  ): Promise<readonly MailboxEntry[] | null> {
    const messages: (Message | SvcError)[] = [];
    for (const entry of entries) messages.push(await decodeEntry(this.#parts.payloads, entry.body));
    try {
      const next = await this.#commitTurns(entries, messages, handling, settles);
      if (next === null) this.#forgetTurns(messages);
      return next;
    } catch (thrown) {
      this.#forgetTurns(messages);
      throw thrown;
    }
  }

  /** Handlers may have touched what they were given, and nothing of it was written. */
  #forgetTurns(messages: readonly (Message | SvcError)[]): void {
    for (const { to } of messages.filter(isReadable)) this.#parts.cache.drop(to);
  }

  async #commitTurns(
    entries: readonly MailboxEntry[],
    messages: readonly (Message | SvcError)[],
    handling: Handling,
    settles: readonly EffectSettle[],
  ): Promise<readonly MailboxEntry[] | null> {
    const { payloads, locator, ledger, cache, starts } = this.#parts;
    const batch = await runBatch(this.#parts, this, entries, messages, handling);
    const last = entries[entries.length - 1];
    if (last === undefined || batch === null) return null;
    const moved = { after: this.cursor, upTo: last.seq };
    const cursor = settles.length > 0 ? { ...moved, settles } : { ...moved, upToAt: last.at };
    const packed = await packCommit(batch, this.lease, cursor, { payloads, locator, ledger });
    const isOver = (): boolean => this.#lost || this.#parts.clock.monotonic() > this.#drainUntil;
    const starting = starts.of(packed.commit, packed.requests);
    const { commit } = starting;
    const outcome = await commitPatiently(this.#parts, commit, isOver).catch((thrown: unknown) => {
      starting.free();
      throw thrown;
    });
    if (outcome.kind !== 'committed') {
      // Fenced may be the answer to the repeat of a commit that had happened, or stand for none at all.
      if (outcome.kind === 'fenced') {
        starting.disown();
        this.lose();
      } else starting.free();
      return null;
    }
    const { partition } = this.lease;
    this.progress.moved(last.seq, batch.writes.works.keys());
    for (const work of batch.writes.works.values()) {
      const { resident } = work;
      const { address, text, owned } = resident;
      resident.record = work.record;
      const written = packed.texts.get(address);
      if (written !== undefined) {
        if (owned && text !== null) this.#parts.replaced.add({ partition, address, text });
        resident.text = written;
        resident.owned = isAside(written);
        resident.size = packed.sizes.get(address) ?? written.length;
      }
      // A later holder may have changed it when the lease was lost meanwhile.
      if (resident.text !== null && !this.#lost) cache.put(resident);
    }
    const jobs = commit.effectsOpened.map(({ id, queue, address }) => ({ id, queue, address, partition }));
    const targets = messages.map((message) => (message instanceof SvcError ? UNREADABLE : message.to));
    // Results settled here were appended by this very commit.
    const appended = settles.length > 0 ? entries.map((entry) => ({ ...entry, at: outcome.at })) : entries;
    const projected = { upTo: last.seq, epoch: this.lease.epoch, entries: appended, targets, rows: batch.rows };
    this.#on.committed({ commit, at: outcome.at, owes: outcome.owes, jobs, starting, projected });
    return outcome.next;
  }
}
