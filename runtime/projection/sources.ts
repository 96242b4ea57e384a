import type { Log } from '../address.ts';
import type { LogServer } from '../dispatch/log-server.ts';
import type { ProjectedCommit } from './projected-commit.ts';

/** A log served here, as far as its journal is projected. */
export interface Source {
  readonly server: LogServer;
  /** Commits not yet in the ledger, oldest first, kept in memory so that the journal need not be read back. */
  pending: ProjectedCommit[];
  /** Of these, how many have their actors' views written. */
  viewed: number;
  /** Size of the bodies in `pending`, in characters. */
  chars: number;
  /**
   * Up to this position rows are read back from the journal, behind it memory has them: the last one when the partition
   * was taken over, or when memory ran full.
   */
  readBackTo: number;
  /** The journal is in documents up to this position. */
  projected: number;
}

/** What is kept in memory while documents are away, of all logs together: one alone may have all partitions of the node. */
const MAX_CHARS = 64_000_000;

const sizeOf = (commit: ProjectedCommit): number => commit.entries.reduce((sum, { body }) => sum + body.length, 100);

/** The logs whose journals this node projects, and the commits that memory still has of them, bounded. */
export class Sources {
  readonly #sources = new Map<Log, Source>();
  /** Size of all that is held in memory, in characters. */
  #chars = 0;

  attach(server: LogServer): void {
    const empty = { pending: [], viewed: 0, chars: 0, projected: 0 };
    this.#sources.set(server.lease.log, { server, ...empty, readBackTo: server.progress.position });
  }

  detach(server: LogServer): void {
    const source = this.#sources.get(server.lease.log);
    if (source?.server !== server) return;
    this.#chars -= source.chars;
    this.#sources.delete(server.lease.log);
  }

  get(server: LogServer): Source | undefined {
    const source = this.#sources.get(server.lease.log);
    return source?.server === server ? source : undefined;
  }

  served(): Source[] {
    return [...this.#sources.values()].filter((source) => !source.server.lost);
  }

  add(server: LogServer, commit: ProjectedCommit): void {
    const source = this.#sources.get(server.lease.log);
    if (source?.server !== server) return;
    source.pending.push(commit);
    const chars = sizeOf(commit);
    source.chars += chars;
    this.#chars += chars;
    // Documents are down for long: what does not fit into memory waits in the journal.
    if (this.#chars > MAX_CHARS) {
      this.#chars -= source.chars;
      Object.assign(source, { pending: [], viewed: 0, chars: 0, readBackTo: commit.upTo });
    }
  }

  /** Frees the commits up to `upTo`, which documents have. */
  release(source: Source, upTo: number): void {
    const left = source.pending.filter((commit) => commit.upTo > upTo);
    // None of them is there any more when memory ran full meanwhile.
    source.viewed = Math.max(0, source.viewed - (source.pending.length - left.length));
    source.pending = left;
    const chars = left.reduce((sum, commit) => sum + sizeOf(commit), 0);
    if (this.#sources.get(source.server.lease.log) === source) this.#chars += chars - source.chars;
    source.chars = chars;
  }
}
