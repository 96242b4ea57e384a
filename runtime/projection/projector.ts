import type { JournalRow, MailboxEntry } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { PartitionServer } from '../dispatch/partition-server.ts';
import type { Collection } from '../documents.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { decodeEntry, UNREADABLE } from '../turns/loading.ts';
import type { TurnRow } from '../turns/turn-row.ts';
import { ActorProjection, type ActorProjectionParts } from './actor-projection.ts';
import { parseJournalRow } from './journal-row.ts';
import { type DeadLetter, deadLettersOf, LEDGER, type LedgerSegment, ledgerSegments } from './ledger.ts';
import { packLines } from './ledger-text.ts';

/** One commit as the projector sees it: what came in, what became of it. */
export interface ProjectedCommit {
  readonly upTo: number;
  readonly epoch: number;
  readonly entries: readonly MailboxEntry[];
  readonly targets: readonly Address[];
  readonly rows: readonly TurnRow[];
}

export interface ProjectorParts extends ActorProjectionParts {
  readonly clock: Clock;
  readonly ledger: boolean;
}

interface Source {
  readonly server: PartitionServer;
  /** Commits not yet in the ledger, oldest first, kept in memory so that the journal need not be read back. */
  pending: ProjectedCommit[];
  /** Of these, how many have their actors' views written. */
  viewed: number;
  /** Size of the bodies in `pending`, in characters. */
  chars: number;
  /**
   * Up to here rows are read back from the journal, behind it memory has them: the cursor when the partition was
   * taken over, or when memory ran full.
   */
  readBackTo: number;
  /** The journal is in documents up to here. */
  projected: number;
}

/** Lists lag at most 250 ms (design R2): half of it is spent waiting, the rest is for the writes. */
const VIEWS_EVERY_MS = 120;
/** The ledger has no promise of lag; writing it seldom makes few large documents and few fsyncs. */
const LEDGER_EVERY_MS = 1_000;
/** What is kept in memory while documents are away: of one partition, of all. */
const MAX_PENDING_CHARS = 16_000_000;
const MAX_ALL_CHARS = 64_000_000;
const MOST_WAIT_MS = 5_000;
const JOURNAL_PAGE = 200;
/** A node that stops waits no longer for slow documents: what is left is in the journal, for the next holder. */
const STOPPED_WITHIN_MS = 5_000;

const packed = async (segment: LedgerSegment): Promise<LedgerSegment> => ({
  ...segment,
  lines: await packLines(segment.lines),
});

/**
 * Carries what happened from the journal into documents (design R2, R3): list views, the ledger of deliveries, dead
 * letters, the archive of ended actors. Idempotent: a crash between writing and trimming only writes the same again.
 */
export class Projector {
  readonly #parts: ProjectorParts;
  readonly #sources = new Map<string, Source>();
  readonly #actors: ActorProjection;
  readonly #ledger: Collection<LedgerSegment>;
  readonly #deadLetters: Collection<DeadLetter>;
  #running: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => {};
  #stopped = false;
  #ledgerAt = 0;
  /** Size of all that is held in memory, in characters. */
  #chars = 0;
  #failures = 0;

  static async open(parts: ProjectorParts): Promise<Projector> {
    const { documents } = parts;
    return new Projector(
      parts,
      await ActorProjection.open(parts),
      await documents.collection<LedgerSegment>(LEDGER),
      await documents.collection<DeadLetter>({ name: 'dead_letters', unique: [], indexes: [['address'], ['at']] }),
    );
  }

  constructor(
    parts: ProjectorParts,
    actors: ActorProjection,
    ledger: Collection<LedgerSegment>,
    deadLetters: Collection<DeadLetter>,
  ) {
    this.#parts = parts;
    this.#actors = actors;
    this.#ledger = ledger;
    this.#deadLetters = deadLetters;
  }

  start(): void {
    this.#arm();
  }

  /** Projects what is left and stops. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer();
    const late = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(STOPPED_WITHIN_MS, late.resolve);
    await Promise.race([this.#running.then(() => this.#runOnce(true)), late.promise]).finally(cancel);
  }

  /** Begins with a partition just taken over: its journal may hold rows of the last holder. */
  attach(server: PartitionServer): void {
    const empty = { pending: [], viewed: 0, chars: 0, projected: 0 };
    this.#sources.set(server.lease.partition, { server, ...empty, readBackTo: server.cursor });
  }

  detach(server: PartitionServer): void {
    const source = this.#sources.get(server.lease.partition);
    if (source?.server !== server) return;
    this.#chars -= source.chars;
    this.#sources.delete(server.lease.partition);
  }

  add(server: PartitionServer, commit: ProjectedCommit): void {
    const source = this.#sources.get(server.lease.partition);
    if (source?.server !== server) return;
    source.pending.push(commit);
    const chars = sizeOf(commit);
    source.chars += chars;
    this.#chars += chars;
    // Documents are down for long: what does not fit into memory waits in the journal.
    if (source.chars > MAX_PENDING_CHARS || this.#chars > MAX_ALL_CHARS) {
      this.#chars -= source.chars;
      Object.assign(source, { pending: [], viewed: 0, chars: 0, readBackTo: commit.upTo });
    }
  }

  #arm(): void {
    if (this.#stopped) return;
    const delayMs = Math.min(VIEWS_EVERY_MS * 2 ** Math.min(this.#failures, 10), MOST_WAIT_MS);
    this.#cancelTimer = this.#parts.clock.after(delayMs, () => {
      const due = this.#parts.clock.monotonic() - this.#ledgerAt >= LEDGER_EVERY_MS;
      this.#running = this.#runOnce(due).finally(() => this.#arm());
    });
  }

  async #runOnce(ledger: boolean): Promise<void> {
    try {
      const sources = [...this.#sources.values()].filter((source) => !source.server.lost);
      for (const source of sources) await this.#project(source);
      if (ledger) {
        this.#ledgerAt = this.#parts.clock.monotonic();
        await this.#writeLedger(sources.filter((source) => source.viewed > 0 && source.projected >= source.readBackTo));
      }
      this.#failures = 0;
    } catch (thrown) {
      // Documents or the store are down: everything stays in the journal and is tried again with the next run.
      this.#failures += 1;
      this.#parts.warn('projection waits', toSvcError(thrown));
    }
  }

  /** What is wrong with one partition alone must not keep the others from their lists. */
  async #project(source: Source): Promise<void> {
    try {
      if (source.projected < source.readBackTo) await this.#catchUp(source);
      await this.#projectViews(source);
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'unavailable') throw error;
      this.#parts.warn(`projection of ${source.server.lease.partition} waits`, error);
    }
  }

  /** Projects a page of the journal that memory does not have; nothing behind it is trimmed before that is done. */
  async #catchUp(source: Source): Promise<void> {
    const { store } = this.#parts;
    const { partition } = source.server.lease;
    const { readBackTo } = source;
    const rows = await store.readJournal(partition, source.projected, JOURNAL_PAGE);
    const commits: ProjectedCommit[] = [];
    for (const row of rows) if (row.upTo <= readBackTo) commits.push(await this.#projected(row));
    await this.#actors.project(source.server, new Set(commits.flatMap(({ targets }) => targets)));
    await this.#writeSegments([{ source, commits }]);
    const last = commits[commits.length - 1];
    if (last !== undefined) await this.#parts.store.trimJournal(source.server.lease, last.upTo);
    // A short page: the journal ends here, or goes on with what memory has.
    source.projected = rows.length < JOURNAL_PAGE || last === undefined ? readBackTo : last.upTo;
  }

  async #projected({ upTo, row, entries }: JournalRow): Promise<ProjectedCommit> {
    const { epoch, turns } = parseJournalRow(row);
    const targets: Address[] = [];
    for (const entry of entries) {
      const message = await decodeEntry(this.#parts.payloads, entry.body);
      targets.push(message instanceof SvcError ? UNREADABLE : message.to);
    }
    return { upTo, epoch, entries, targets, rows: turns };
  }

  async #projectViews(source: Source): Promise<void> {
    const { pending } = source;
    const upTo = pending.length;
    if (source.viewed === upTo) return;
    const touched = new Set<Address>();
    for (const commit of pending.slice(source.viewed)) for (const target of commit.targets) touched.add(target);
    await this.#actors.project(source.server, touched);
    if (source.pending === pending) source.viewed = upTo;
  }

  async #writeLedger(sources: readonly Source[]): Promise<void> {
    const done = sources.map((source) => ({ source, commits: source.pending.slice(0, source.viewed) }));
    await this.#writeSegments(done);
    await Promise.all(done.map(({ source, commits }) => this.#trim(source, commits)));
  }

  async #writeSegments(
    done: readonly { readonly source: Source; readonly commits: readonly ProjectedCommit[] }[],
  ): Promise<void> {
    const segments = this.#parts.ledger
      ? done.flatMap(({ source, commits }) => ledgerSegments(source.server.lease.partition, commits))
      : [];
    const letters = done.flatMap(({ commits }) => deadLettersOf(commits));
    if (segments.length > 0) await this.#ledger.putMany(await Promise.all(segments.map(packed)));
    if (letters.length > 0) await this.#deadLetters.putMany(letters);
  }

  async #trim(source: Source, commits: readonly ProjectedCommit[]): Promise<void> {
    const last = commits[commits.length - 1];
    if (last === undefined) return;
    await this.#parts.store.trimJournal(source.server.lease, last.upTo);
    source.projected = Math.max(source.projected, last.upTo);
    const left = source.pending.filter((commit) => commit.upTo > last.upTo);
    // None of them is there any more when memory ran full meanwhile.
    source.viewed = Math.max(0, source.viewed - (source.pending.length - left.length));
    source.pending = left;
    const chars = left.reduce((sum, commit) => sum + sizeOf(commit), 0);
    if (this.#sources.get(source.server.lease.partition) === source) this.#chars += chars - source.chars;
    source.chars = chars;
  }
}

const sizeOf = (commit: ProjectedCommit): number => commit.entries.reduce((sum, { body }) => sum + body.length, 100);
