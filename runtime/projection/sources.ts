import { type Address, isSharedLog, type Log, type Partition } from '../address.ts';
import type { LogServer } from '../dispatch/log-server.ts';
import { type DeadLetter, deadLettersOf } from '../ledger/segments.ts';
import type { LedgerPart } from '../ledger/writing/ledger-writer.ts';
import { RecordedChunks, RecordedCommits } from '../ledger/writing/recorded-commits.ts';
import type { ProjectedCommit } from './views.ts';

/** A commit that is not in the ledger yet. */
interface PendingCommit {
  readonly upTo: number;
  /** Actors whose lists and archive it may change, with their partitions. Null: they are projected. */
  touched: ReadonlyMap<Address, Partition> | null;
  readonly letters: readonly DeadLetter[];
  /** Its part of the recorded deliveries. */
  readonly bytes: number;
  readonly deliveries: number;
}

/** A log served here, and how far its journal is projected. */
export interface Source {
  readonly server: LogServer;
  /** Commits that are not in the ledger yet, oldest first. They stay in memory so that the journal need not be read. */
  pending: PendingCommit[];
  /** The deliveries of these commits. Null: the node keeps no ledger. */
  readonly recorded: RecordedCommits | null;
  /** How many of these commits have the views of their actors written. */
  viewed: number;
  /** Size of `pending` in bytes. */
  bytes: number;
  /**
   * Rows up to this position must be read from the journal; later ones are in memory. It is the last row when the
   * partition was taken over, or when memory ran full.
   */
  readBackTo: number;
  /** Position up to which the journal is in the documents. */
  projected: number;
}

/**
 * Most bytes in memory while documents are unavailable, for all logs together: one log alone may have all partitions of
 * the node.
 */
const MAX_BYTES = 64_000_000;

/** Bytes of a commit beside its deliveries. */
const COMMIT_BYTES = 100;

const sizeOf = ({ bytes, letters }: PendingCommit): number =>
  letters.reduce((sum, letter) => sum + (letter.bytes ?? 0), bytes + COMMIT_BYTES);

/** The logs whose journals this node projects, with their commits in memory, up to a limit. */
export class Sources {
  readonly #sources = new Map<Log, Source>();
  readonly #chunks = new RecordedChunks();
  readonly #isRecording: boolean;
  /** Bytes of all commits in memory. */
  #bytes = 0;

  constructor(isRecording: boolean) {
    this.#isRecording = isRecording;
  }

  attach(server: LogServer): void {
    const { log } = server.lease;
    const recorded = this.#isRecording ? new RecordedCommits(isSharedLog(log) ? log : null, this.#chunks) : null;
    const empty = { pending: [], recorded, viewed: 0, bytes: 0, projected: 0 };
    this.#sources.set(log, { server, ...empty, readBackTo: server.progress.position });
  }

  detach(server: LogServer): void {
    const source = this.get(server);
    if (source === undefined) return;
    this.#bytes -= source.bytes;
    this.#sources.delete(server.lease.log);
  }

  get(server: LogServer): Source | undefined {
    const source = this.#sources.get(server.lease.log);
    return source?.server === server ? source : undefined;
  }

  /** The logs served here whose journals have rows that must be read. */
  behind(): Source[] {
    return this.#servedWith((source) => source.projected < source.readBackTo);
  }

  /** The logs served here that have commits in memory: few of the hundreds that a node holds. */
  pending(): Source[] {
    return this.#servedWith((source) => source.pending.length > 0);
  }

  #servedWith(has: (source: Source) => boolean): Source[] {
    const found: Source[] = [];
    // Each run of the projector reads all of them: a list of them would be half of the garbage of a quiet node.
    this.#sources.forEach((source) => {
      if (has(source) && !source.server.lost) found.push(source);
    });
    return found;
  }

  /** Adds a commit. `touched` are the actors that are to be projected. */
  add(server: LogServer, commit: ProjectedCommit, touched: ReadonlyMap<Address, Partition>): void {
    const source = this.get(server);
    if (source === undefined) return;
    const { upTo } = commit;
    const recorded = source.recorded?.add(commit) ?? { bytes: 0, deliveries: 0 };
    const pending = { upTo, touched, letters: deadLettersOf(commit), ...recorded };
    source.pending.push(pending);
    const bytes = sizeOf(pending);
    source.bytes += bytes;
    this.#bytes += bytes;
    // Documents have been unavailable for so long that memory is full: further commits wait in the journal.
    if (this.#bytes > MAX_BYTES) {
      this.#bytes -= source.bytes;
      source.recorded?.clear();
      Object.assign(source, { pending: [], viewed: 0, bytes: 0, readBackTo: commit.upTo });
    }
  }

  /** Frees the commits up to `upTo`, which are in the documents. */
  release(source: Source, upTo: number): void {
    const after = source.pending.findIndex((commit) => commit.upTo > upTo);
    // Memory may have run full meanwhile, so that none of them is left.
    const gone = source.pending.splice(0, after < 0 ? source.pending.length : after);
    source.viewed = Math.max(0, source.viewed - gone.length);
    source.recorded?.release(gone.reduce((sum, commit) => sum + commit.bytes, 0));
    const bytes = gone.reduce((sum, commit) => sum + sizeOf(commit), 0);
    source.bytes -= bytes;
    if (this.get(source.server) === source) this.#bytes -= bytes;
  }
}

/** Notes that the first `count` commits have the views of their actors written. */
export function markViewed(source: Source, count: number): void {
  for (const commit of source.pending.slice(source.viewed, count)) commit.touched = null;
  source.viewed = count;
}

/** The first `count` commits, for the ledger. */
export function ledgerPartOf({ pending, recorded }: Source, count: number): LedgerPart {
  let [bytes, deliveries]: [number, number] = [0, 0];
  const letters: DeadLetter[] = [];
  for (const commit of pending.slice(0, count)) {
    bytes += commit.bytes;
    deliveries += commit.deliveries;
    letters.push(...commit.letters);
  }
  return { recorded: recorded?.first(bytes) ?? null, deliveries, letters };
}
