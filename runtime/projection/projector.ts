import type { JournalRow } from '../actor-store.ts';
import { type Address, isPartition, isSharedLog, type Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { LogServer } from '../dispatch/log-server.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { backoffMs, within } from '../kit/waits.ts';
import { resultPosition } from '../leases.ts';
import type { KeyRuns } from '../ledger/key-runs.ts';
import { type DeliveryKeys, keysIn, keysOfTurn } from '../ledger/keys.ts';
import { LedgerWriter, ledgerPart } from '../ledger/writing/ledger-writer.ts';
import type { Message } from '../message.ts';
import { type Meter, noMeter } from '../meter.ts';
import type { Random } from '../random.ts';
import type { TurnRow } from '../turns/actor-draft.ts';
import { decodeEntry, UNREADABLE } from '../turns/loading.ts';
import { ActorProjection, type ActorProjectionParts, type Touched } from './actor-projection.ts';
import { ProjectionRounds } from './rounds.ts';
import { ledgerPartOf, markViewed, type Source, Sources } from './sources.ts';
import { type JournalLine, type ProjectedCommit, parseJournalRow } from './views.ts';

interface ProjectorParts extends ActorProjectionParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Keys of the ledger. Null: the node keeps no ledger. */
  readonly keys: KeyRuns | null;
  /** Called when the ledger may have got further runs of keys, and each few seconds. */
  readonly onKeys: () => void;
}

/**
 * Pause between writes of list views. Lists lag at most 250 ms (R2): half of that is this pause, the rest is for the
 * writes.
 */
const VIEWS_EVERY_MS = 120;
/**
 * Pause between writes of the ledger. A delivery can be read within a second of its commit (decision 0037): less than half
 * is this pause, the rest is for the writes and for readers that look for new keys. More frequent writes make more and
 * smaller documents, and more fsyncs.
 */
const LEDGER_EVERY_MS = 400;
/** Pause between two looks for work on runs of keys when none is added: runs of other nodes, and what retention removed. */
const KEYS_EVERY_MS = 5_000;
const MOST_WAIT_MS = 5_000;
const JOURNAL_PAGE = 200;
/** Actors that are projected together: some milliseconds of this thread, and one write. */
const STRETCH_ACTORS = 64;
/** Longest time that a stopping node waits for slow documents. The rest stays in the journal for the next holder. */
const STOPPED_WITHIN_MS = 5_000;

/**
 * Writes the content of the journal into documents (R2, R3): list views, the ledger of deliveries, dead letters, the
 * archive of ended actors. It is idempotent: after a crash between writing and trimming it writes the same again.
 */
export class Projector {
  readonly #parts: ProjectorParts;
  readonly #sources: Sources;
  readonly #actors: ActorProjection;
  readonly #ledger: LedgerWriter;
  readonly #rounds: ProjectionRounds;
  readonly #meter: Meter;
  #running: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => {};
  #stopped = false;
  #ledgerAt = 0;
  #keysAt = Number.NEGATIVE_INFINITY;
  #failures = 0;

  static async open(parts: ProjectorParts): Promise<Projector> {
    const [actors, ledger] = [await ActorProjection.open(parts), await LedgerWriter.open(parts)];
    return new Projector(parts, actors, ledger, await ProjectionRounds.open(parts));
  }

  private constructor(parts: ProjectorParts, actors: ActorProjection, ledger: LedgerWriter, rounds: ProjectionRounds) {
    this.#parts = parts;
    this.#actors = actors;
    this.#ledger = ledger;
    this.#rounds = rounds;
    this.#sources = new Sources(parts.keys !== null);
    this.#meter = parts.meter ?? noMeter;
  }

  start(): void {
    this.#arm();
  }

  /** Projects the rest and stops. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer();
    const last = this.#running.then(() => this.#runOnce(true));
    try {
      await within(this.#parts.clock, STOPPED_WITHIN_MS, last);
    } finally {
      await this.#ledger.close();
    }
  }

  /** Starts projecting a log that was just taken over. Its journal may hold rows of the last holder. */
  attach(server: LogServer): void {
    this.#meter.lease('taken', server.lease.log);
    this.#sources.attach(server);
  }

  detach(server: LogServer): void {
    if (this.#sources.get(server) !== undefined) this.#meter.lease('ended', server.lease.log);
    this.#sources.detach(server);
  }

  /** Whether the documents have everything in the journal of a log. */
  isDone(server: LogServer): boolean {
    const source = this.#sources.get(server);
    return source === undefined || (source.pending.length === 0 && source.projected >= source.readBackTo);
  }

  add(server: LogServer, commit: ProjectedCommit): void {
    this.#count(commit);
    this.#actors.recent.keep(commit);
    this.#sources.add(server, commit, this.#actors.touchedBy([commit]));
  }

  #count({ rows, targets, entries, keys }: ProjectedCommit): void {
    this.#meter.committed();
    for (const [index, row] of rows.entries()) {
      const target = targets[index];
      if (target === undefined || row.outcome === 'postponed') continue;
      const body = entries[index]?.body ?? '';
      const trace = (): string | null => keys[index]?.trace ?? (body.startsWith('{') ? keysIn(body).keys.trace : null);
      // A retry is one delivery, in which a failing message and those behind it are handled again.
      for (const one of [row, ...(row.drained ?? [])]) this.#countTurn(target, one, row.waitMs, trace);
      if (row.outcome === 'done' && this.#isRun(target) && isStart(body, keys[index]?.envelope))
        this.#meter.actorStarted(target, trace());
    }
  }

  #countTurn(
    target: Address,
    { outcome, turnUs = 0, error = '' }: { outcome: string; turnUs?: number | undefined; error?: string | undefined },
    waitMs: number,
    trace: () => string | null,
  ): void {
    this.#meter.delivered(target.slice(0, target.indexOf('/')), outcome, waitMs, turnUs / 1_000);
    if (outcome === 'retried' || outcome === 'dead-lettered')
      this.#meter.turnFailed(target, outcome, { trace: trace(), error });
  }

  #isRun(address: Address): boolean {
    return this.#parts.registry.definitionOf(address)?.view?.isLocated === true;
  }

  #arm(): void {
    if (this.#stopped) return;
    const delayMs = backoffMs(this.#failures, VIEWS_EVERY_MS, MOST_WAIT_MS);
    this.#cancelTimer = this.#parts.clock.after(delayMs, () => {
      const due = this.#parts.clock.monotonic() - this.#ledgerAt >= LEDGER_EVERY_MS;
      this.#running = this.#runOnce(due).finally(() => this.#arm());
    });
  }

  async #runOnce(ledger: boolean): Promise<void> {
    try {
      for (const source of this.#sources.behind()) await this.#readBack(source);
      const sources = this.#sources.pending();
      await this.#projectViews(sources);
      if (ledger) {
        this.#ledgerAt = this.#parts.clock.monotonic();
        await this.#writeLedger(sources.filter((source) => source.viewed > 0 && source.projected >= source.readBackTo));
      }
      this.#failures = 0;
    } catch (thrown) {
      // Documents or the store are unavailable: everything stays in the journal and is tried again in the next run.
      this.#failures += 1;
      this.#parts.warn(
        'lists, ledger and archive could not be written; they are tried again and the journal is kept',
        toSvcError(thrown),
      );
    }
  }

  /** Reads the journal of one log. A fault of one partition must not keep the others from their lists. */
  async #readBack(source: Source): Promise<void> {
    try {
      await this.#catchUp(source);
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'unavailable') throw error;
      this.#parts.warn(
        `the journal of ${source.server.lease.log} could not be projected; it is kept and tried again`,
        error,
      );
    }
  }

  /** Projects a page of the journal that is not in memory. Nothing behind it is trimmed before that is done. */
  async #catchUp(source: Source): Promise<void> {
    const { store } = this.#parts;
    const { server } = source;
    const { readBackTo } = source;
    const rows = await store.readJournal(server.lease.log, source.projected, JOURNAL_PAGE);
    const commits: ProjectedCommit[] = [];
    for (const row of rows) if (row.upTo <= readBackTo) commits.push(await this.#projected(row, server));
    const touched = { source, pending: source.pending, upTo: 0, addresses: this.#actors.touchedBy(commits) };
    for (const stretch of stretchesOf([touched])) {
      const failed = await this.#actors.project(stretch.touched);
      // Already reported. The journal stays unchanged.
      if (failed.size > 0) return;
    }
    const { log } = server.lease;
    await this.#ledger.write([ledgerPart(isSharedLog(log) ? log : null, commits)]);
    const last = commits[commits.length - 1];
    if (last !== undefined) {
      await this.#rounds.finish();
      await this.#parts.store.trimJournal(source.server.lease, last.upTo);
    }
    source.projected = last?.upTo ?? source.projected;
    // A short page: the journal ends here, or continues with the commits in memory.
    if (rows.length < JOURNAL_PAGE || last === undefined) source.readBackTo = source.projected;
  }

  async #projected({ upTo, row, entries }: JournalRow, { partitionOf }: LogServer): Promise<ProjectedCommit> {
    const { epoch, node = null, turns, results } = this.#parsed(upTo, row);
    const taken = results.map(([at, message, ...where], index) => ({
      seq: resultPosition(upTo, index, results.length),
      at,
      body: typeof message === 'string' ? message : JSON.stringify(message),
      ...where.filter(isPartition).map((partition) => ({ partition }))[0],
    }));
    const all = [...entries, ...taken];
    const targets: Address[] = [];
    const keys: (DeliveryKeys | null)[] = [];
    for (const [index, { body }] of all.entries()) {
      const turn = turns[index];
      const message = turn?.outcome === 'postponed' ? null : await decodeEntry(this.#parts.payloads, body);
      const isKnown = message !== null && !(message instanceof SvcError);
      targets.push(isKnown ? message.to : UNREADABLE);
      keys.push(isKnown ? keysOfTurn(message, body, turn, await this.#drained(turn)) : null);
    }
    return { upTo, epoch, node, entries: all, targets, partitions: all.map(partitionOf), rows: turns, keys };
  }

  /** The messages that a retry handled, by body. */
  async #drained(turn: TurnRow | undefined): Promise<ReadonlyMap<string, Message>> {
    const drained = new Map<string, Message>();
    for (const { body } of turn?.drained ?? []) {
      const message = await decodeEntry(this.#parts.payloads, body);
      if (!(message instanceof SvcError)) drained.set(body, message);
    }
    return drained;
  }

  /**
   * Parses a row. One that cannot be read says nothing about its turns, but its entries still say which actors they
   * changed.
   */
  #parsed(upTo: number, row: string): JournalLine {
    try {
      return parseJournalRow(row);
    } catch (thrown) {
      this.#parts.warn(`the journal row ${upTo} cannot be read`, toSvcError(thrown));
      return { epoch: 0, turns: [], results: [] };
    }
  }

  /**
   * Projects the views in stretches, so that turns and calls get the thread in between, however much there is to
   * project.
   */
  async #projectViews(sources: readonly Source[]): Promise<void> {
    const work: Work[] = [];
    for (const source of sources) {
      const { pending } = source;
      if (source.viewed === pending.length) continue;
      const touched = pending.slice(source.viewed).flatMap((commit) => [...(commit.touched ?? [])]);
      work.push({ source, pending, upTo: pending.length, addresses: new Map(touched) });
    }
    if (work.length === 0) return;
    const failed = new Set<LogServer>();
    for (const { touched, ends } of stretchesOf(work)) {
      for (const server of await this.#actors.project(touched)) failed.add(server);
      for (const { source, pending, upTo } of ends) {
        if (!failed.has(source.server) && source.pending === pending) markViewed(source, upTo);
      }
    }
  }

  async #writeLedger(sources: readonly Source[]): Promise<void> {
    const now = this.#parts.clock.monotonic();
    // Each look reads the list of runs.
    if (sources.length === 0 && now - this.#keysAt < KEYS_EVERY_MS) return;
    const done = sources.map((source) => ({ source, upTo: source.pending[source.viewed - 1]?.upTo ?? 0 }));
    if (done.length > 0) {
      await this.#ledger.write(sources.map((source) => ledgerPartOf(source, source.viewed)));
      await this.#rounds.finish();
      await Promise.all(done.map(({ source, upTo }) => this.#trim(source, upTo)));
    }
    this.#keysAt = now;
    this.#parts.onKeys();
  }

  async #trim(source: Source, upTo: number): Promise<void> {
    await this.#parts.store.trimJournal(source.server.lease, upTo);
    source.projected = Math.max(source.projected, upTo);
    this.#sources.release(source, upTo);
  }
}

/**
 * Actors of one log that commits changed, with their partitions. Once they are projected, the lists contain the first
 * `upTo` commits of the log.
 */
interface Work {
  readonly source: Source;
  /** The commits in memory when it began. Memory that runs full meanwhile has another list. */
  readonly pending: Source['pending'];
  readonly upTo: number;
  readonly addresses: ReadonlyMap<Address, Partition>;
}

interface Stretch {
  readonly touched: readonly Touched[];
  /** Work whose last actors are in this stretch. */
  readonly ends: readonly Work[];
}

/** Cuts work into parts of limited size, in order. */
function* stretchesOf(work: readonly Work[]): Generator<Stretch> {
  let [touched, ends, size]: [Touched[], Work[], number] = [[], [], 0];
  for (const one of work) {
    const addresses = [...one.addresses];
    if (addresses.length === 0) ends.push(one);
    for (let from = 0; from < addresses.length; ) {
      const some = addresses.slice(from, from + STRETCH_ACTORS - size);
      for (const [partition, few] of Map.groupBy(some, ([, where]) => where)) {
        touched.push({ server: one.source.server, partition, addresses: few.map(([address]) => address) });
      }
      from += some.length;
      size += some.length;
      if (from === addresses.length) ends.push(one);
      if (size < STRETCH_ACTORS) continue;
      yield { touched, ends };
      [touched, ends, size] = [[], [], 0];
    }
  }
  if (touched.length > 0 || ends.length > 0) yield { touched, ends };
}

/** The type stands before the payload in the text of a message. */
const TYPE_WITHIN = 1_000;

/** Whether a message creates an actor. `envelope`: of a message whose text is in Blobs. */
const isStart = (body: string, envelope: DeliveryKeys['envelope'] | undefined): boolean =>
  envelope === null || envelope === undefined
    ? body.slice(0, TYPE_WITHIN).includes('"type":"Start"')
    : envelope.type === 'Start';
