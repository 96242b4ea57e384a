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
  /** Commits since the last run, kept in memory so that the journal need not be read back. */
  pending: ProjectedCommit[];
  /** The journal holds rows that `pending` does not: after taking a partition over, or when memory ran full. */
  behind: boolean;
  projected: number;
}

/** Lists lag at most 250 ms (design R2): half of it is spent waiting, the rest is for the writes. */
const INTERVAL_MS = 120;
const MAX_PENDING_ENTRIES = 20_000;
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
    await this.#runOnce();
  }

  /** Begins with a partition just taken over: its journal may hold rows of the last holder. */
  attach(server: PartitionServer): void {
    this.#sources.set(server.lease.partition, { server, pending: [], behind: true, projected: 0 });
  }

  detach(server: PartitionServer): void {
    if (this.#sources.get(server.lease.partition)?.server === server) this.#sources.delete(server.lease.partition);
  }

  add(server: PartitionServer, commit: ProjectedCommit): void {
    const source = this.#sources.get(server.lease.partition);
    if (source === undefined || source.behind) return;
    source.pending.push(commit);
    if (source.pending.length > MAX_PENDING_ENTRIES) {
      source.pending = [];
      source.behind = true;
    }
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.clock.after(INTERVAL_MS, () => {
      this.#running = this.#runOnce().finally(() => this.#arm());
    });
  }

  async #runOnce(): Promise<void> {
    const segments: LedgerSegment[] = [];
    const letters: DeadLetter[] = [];
    const trims: { source: Source; upTo: number }[] = [];
    const touched: { source: Source; addresses: Set<Address> }[] = [];
    try {
      for (const source of this.#sources.values()) {
        if (source.server.lost) continue;
        const commits = source.behind ? await this.#readBack(source) : source.pending;
        const last = commits[commits.length - 1];
        if (last === undefined) continue;
        const { partition } = source.server.lease;
        if (this.#parts.ledger) segments.push(...ledgerSegments(partition, commits));
        letters.push(...deadLettersOf(commits));
        touched.push({ source, addresses: new Set(commits.flatMap((commit) => commit.targets)) });
        trims.push({ source, upTo: last.upTo });
      }
      if (trims.length === 0) return;
      if (segments.length > 0) await this.#ledger.putMany(segments);
      if (letters.length > 0) await this.#deadLetters.putMany(letters);
      for (const { source, addresses } of touched) await this.#projectActors(source, addresses);
      await Promise.all(
        trims.map(async ({ source, upTo }) => {
          await this.#parts.store.trimJournal(source.server.lease, upTo);
          source.projected = upTo;
          source.pending = source.pending.filter((commit) => commit.upTo > upTo);
        }),
      );
    } catch (thrown) {
      // Documents or the store are down: everything stays in the journal and is tried again with the next run.
      this.#parts.warn('projection waits', toSvcError(thrown));
    }
  }

  /** Rows of the journal behind the projected position; when the end is reached, memory is trusted from there on. */
  async #readBack(source: Source): Promise<ProjectedCommit[]> {
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
    const last = commits[commits.length - 1];
    if (rows.length < JOURNAL_PAGE && (last?.upTo ?? cursor) >= cursor && source.server.cursor === cursor) {
      source.behind = false;
      source.pending = [...commits];
    }
    return commits;
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
      await source.server.forget(actor.address, actor.revision);
    }
  }
}
