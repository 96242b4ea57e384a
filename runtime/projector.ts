import type { ActorStore, MailboxEntry } from './actor-store.ts';
import type { Address } from './address.ts';
import type { Archive } from './archive.ts';
import type { Clock } from './clock.ts';
import { decodeMessage } from './codec.ts';
import type { Collection, Documents, StoredDocument } from './documents.ts';
import { toSvcError } from './errors.ts';
import { parseJournalRow } from './journal-row.ts';
import { type DeadLetter, deadLettersOf, type LedgerSegment, ledgerSegments } from './ledger.ts';
import type { PartitionServer } from './partition-server.ts';
import type { Payloads } from './payload.ts';
import { decodeRecord } from './record.ts';
import type { Registry } from './registry.ts';
import type { TurnRow } from './turn-row.ts';

/** One commit as the projector sees it: what came in, what became of it. */
export interface ProjectedCommit {
  readonly upTo: number;
  readonly epoch: number;
  readonly entries: readonly MailboxEntry[];
  readonly targets: readonly Address[];
  readonly rows: readonly TurnRow[];
}

export interface ProjectorParts {
  readonly store: ActorStore;
  readonly documents: Documents;
  readonly archive: Archive;
  readonly registry: Registry;
  readonly payloads: Payloads;
  readonly clock: Clock;
  readonly ledger: boolean;
  readonly warn: (message: string, error: unknown) => void;
}

interface Source {
  readonly server: PartitionServer;
  /** Commits not yet in the ledger, oldest first, kept in memory so that the journal need not be read back. */
  pending: ProjectedCommit[];
  /** Of these, how many have their actors' views written. */
  viewed: number;
  /** Size of the bodies in `pending`, in characters. */
  chars: number;
  /** The journal holds rows that `pending` does not: after taking a partition over, or when memory ran full. */
  behind: boolean;
  /** The journal is in documents up to here. */
  projected: number;
}

/** Lists lag at most 250 ms (design R2): half of it is spent waiting, the rest is for the writes. */
const VIEWS_EVERY_MS = 120;
/** The ledger has no promise of lag; writing it seldom makes few large documents and few fsyncs. */
const LEDGER_EVERY_MS = 1_000;
const MAX_PENDING_CHARS = 16_000_000;
const JOURNAL_PAGE = 200;

/**
 * Carries what happened from the journal into documents (design R2, R3): list views, the ledger of deliveries, dead
 * letters, the archive of ended actors. Idempotent: a crash between writing and trimming only writes the same again.
 */
export class Projector {
  readonly #parts: ProjectorParts;
  readonly #sources = new Map<string, Source>();
  readonly #views = new Map<string, Collection<StoredDocument>>();
  readonly #ledger: Collection<LedgerSegment>;
  readonly #deadLetters: Collection<DeadLetter>;
  #running: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => {};
  #stopped = false;
  #ledgerAt = 0;

  static async open(parts: ProjectorParts): Promise<Projector> {
    const { documents } = parts;
    const views = new Map<string, Collection<StoredDocument>>();
    for (const { view } of parts.registry.definitions) {
      if (view === undefined) continue;
      const spec = { name: view.collection, unique: [], indexes: view.indexes ?? [] };
      views.set(view.collection, await documents.collection<StoredDocument>(spec));
    }
    return new Projector(
      parts,
      views,
      await documents.collection<LedgerSegment>({
        name: 'ledger',
        unique: [],
        indexes: [['partition', 'first'], ['to_at']],
      }),
      await documents.collection<DeadLetter>({ name: 'dead_letters', unique: [], indexes: [['address'], ['at']] }),
    );
  }

  constructor(
    parts: ProjectorParts,
    views: Map<string, Collection<StoredDocument>>,
    ledger: Collection<LedgerSegment>,
    deadLetters: Collection<DeadLetter>,
  ) {
    this.#parts = parts;
    this.#views = views;
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
    await this.#running;
    await this.#runOnce(true);
  }

  /** Begins with a partition just taken over: its journal may hold rows of the last holder. */
  attach(server: PartitionServer): void {
    const empty = { pending: [], viewed: 0, chars: 0, projected: 0 };
    this.#sources.set(server.lease.partition, { server, ...empty, behind: true });
  }

  detach(server: PartitionServer): void {
    if (this.#sources.get(server.lease.partition)?.server === server) this.#sources.delete(server.lease.partition);
  }

  add(server: PartitionServer, commit: ProjectedCommit): void {
    const source = this.#sources.get(server.lease.partition);
    if (source === undefined || source.behind) return;
    source.pending.push(commit);
    for (const entry of commit.entries) source.chars += entry.body.length;
    // Documents are down for long: what does not fit into memory waits in the journal.
    if (source.chars > MAX_PENDING_CHARS) Object.assign(source, { pending: [], viewed: 0, chars: 0, behind: true });
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.clock.after(VIEWS_EVERY_MS, () => {
      const due = this.#parts.clock.monotonic() - this.#ledgerAt >= LEDGER_EVERY_MS;
      this.#running = this.#runOnce(due).finally(() => this.#arm());
    });
  }

  async #runOnce(ledger: boolean): Promise<void> {
    try {
      const sources = [...this.#sources.values()].filter((source) => !source.server.lost);
      for (const source of sources) {
        if (source.behind && source.pending.length === 0) await this.#readBack(source);
        await this.#projectViews(source);
      }
      if (!ledger) return;
      this.#ledgerAt = this.#parts.clock.monotonic();
      await this.#writeLedger(sources.filter((source) => source.viewed > 0));
    } catch (thrown) {
      // Documents or the store are down: everything stays in the journal and is tried again with the next run.
      this.#parts.warn('projection waits', toSvcError(thrown));
    }
  }

  /** Rows of the journal behind the projected position; when the end is reached, memory is trusted from there on. */
  async #readBack(source: Source): Promise<void> {
    const { store, payloads } = this.#parts;
    const { partition } = source.server.lease;
    const cursor = source.server.cursor;
    const rows = await store.readJournal(partition, source.projected, JOURNAL_PAGE);
    const commits: ProjectedCommit[] = [];
    for (const { upTo, row, entries } of rows) {
      const { epoch, turns } = parseJournalRow(row);
      const targets: Address[] = [];
      for (const entry of entries) targets.push((await decodeMessage(payloads, entry.body)).to);
      commits.push({ upTo, epoch, entries, targets, rows: turns });
    }
    const last = commits[commits.length - 1]?.upTo ?? cursor;
    source.pending = commits;
    if (rows.length < JOURNAL_PAGE && last >= cursor && source.server.cursor === cursor) source.behind = false;
  }

  async #projectViews(source: Source): Promise<void> {
    const { pending } = source;
    const upTo = pending.length;
    if (source.viewed === upTo) return;
    const touched = new Set<Address>();
    for (const commit of pending.slice(source.viewed)) for (const target of commit.targets) touched.add(target);
    await this.#projectActors(source, touched);
    if (source.pending === pending) source.viewed = upTo;
  }

  async #writeLedger(sources: readonly Source[]): Promise<void> {
    const done = sources.map((source) => ({ source, commits: source.pending.slice(0, source.viewed) }));
    const segments = this.#parts.ledger
      ? done.flatMap(({ source, commits }) => ledgerSegments(source.server.lease.partition, commits))
      : [];
    const letters = done.flatMap(({ commits }) => deadLettersOf(commits));
    if (segments.length > 0) await this.#ledger.putMany(segments);
    if (letters.length > 0) await this.#deadLetters.putMany(letters);
    await Promise.all(done.map(({ source, commits }) => this.#trim(source, commits)));
  }

  async #trim(source: Source, commits: readonly ProjectedCommit[]): Promise<void> {
    const last = commits[commits.length - 1];
    if (last === undefined) return;
    await this.#parts.store.trimJournal(source.server.lease, last.upTo);
    source.projected = last.upTo;
    source.pending = source.pending.filter((commit) => commit.upTo > last.upTo);
    source.viewed = Math.max(0, source.viewed - commits.length);
    source.chars = 0;
    for (const { entries } of source.pending) for (const entry of entries) source.chars += entry.body.length;
  }

  async #projectActors(source: Source, addresses: ReadonlySet<Address>): Promise<void> {
    const { store, registry, payloads } = this.#parts;
    const { partition } = source.server.lease;
    const wanted = [...addresses].filter((address) => {
      const definition = registry.definitionOf(address);
      return definition?.view !== undefined || definition?.done !== undefined;
    });
    if (wanted.length === 0) return;
    const texts = await store.load(partition, wanted);
    const documents = new Map<string, StoredDocument[]>();
    const ended: { address: Address; record: string; revision: number; lastEvent: number }[] = [];
    for (const [index, address] of wanted.entries()) {
      const definition = registry.definitionOf(address);
      const text = texts[index];
      if (definition === undefined || text === null || text === undefined) continue;
      const record = decodeRecord(definition, await payloads.unpack(text));
      const [, tenant = '', id = ''] = address.split('/');
      const document = definition.view?.project(record.state, { tenant, id }) ?? null;
      if (document !== null && definition.view !== undefined) {
        const list = documents.get(definition.view.collection) ?? [];
        list.push({ ...document, version: record.revision });
        documents.set(definition.view.collection, list);
      }
      if (definition.done?.(record.state) === true && record.stuck === null) {
        ended.push({ address, record: text, revision: record.revision, lastEvent: record.lastEvent });
      }
    }
    for (const [collection, list] of documents) await this.#views.get(collection)?.putMany(list);
    for (const actor of ended) {
      await this.#parts.archive.store(store, partition, actor);
      await source.server.forget(actor.address, actor.record);
    }
  }
}
