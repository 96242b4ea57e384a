import { createHash } from 'node:crypto';
import type { Log } from '../address.ts';
import type { LogServer } from '../dispatch/log-server.ts';
import type { Collection, Documents } from '../documents.ts';
import { SvcError } from '../errors.ts';
import { SYSTEM_TENANT } from '../identity.ts';
import {
  documentFacts,
  type FactDocument,
  nodeOfRound,
  roundFact,
  type StoreFacts,
  type StoreNames,
} from '../store-formats.ts';
import type { ProjectedCommit } from './views.ts';

interface RoundsParts {
  readonly store: StoreFacts;
  readonly documents: Documents;
}

/**
 * Numbers the rounds in which a node removes from the log what documents have. The number is written into documents first,
 * then into the actor store, then the log is trimmed. So a round that the actor store knows and documents do not know means
 * that documents are older than the log: a backup of them came back.
 */
export class ProjectionRounds {
  readonly #store: StoreFacts;
  readonly #facts: Collection<FactDocument>;
  readonly #name: string;
  #last: number;

  static async open({ store, documents, node }: RoundsParts & { readonly node: string }): Promise<ProjectionRounds> {
    const facts = await documentFacts(documents);
    const name = roundFact(node);
    const known = (await facts.get(SYSTEM_TENANT, name))?.version ?? 0;
    return new ProjectionRounds(store, facts, name, Math.max(known, Number((await store.facts()).get(name) ?? 0)));
  }

  private constructor(store: StoreFacts, facts: Collection<FactDocument>, name: string, last: number) {
    this.#store = store;
    this.#facts = facts;
    this.#name = name;
    this.#last = last;
  }

  /** To be called between the writes into documents and the trim of the log. Throws `unavailable`: then nothing may be trimmed. */
  async finish(): Promise<void> {
    this.#last += 1;
    const round = this.#last;
    await this.#facts.put({ tenant: SYSTEM_TENANT, id: this.#name, version: round, text: '' });
    await this.#store.keepFact(this.#name, String(round));
  }
}

interface Gap {
  readonly node: string;
  /** In documents, and in the log. */
  readonly has: number;
  readonly needs: number;
}

/**
 * Throws `failed_precondition` when documents are older than the log, unless `accepted` is the word that the error names:
 * it stands for this loss and no other. Accepted, documents count as complete from here on.
 */
export async function refuseOlderDocuments(
  parts: RoundsParts & { readonly names: StoreNames; readonly accepted: string | undefined },
): Promise<void> {
  const { store, documents, names, accepted } = parts;
  const facts = await documentFacts(documents);
  const gaps: Gap[] = [];
  for (const [fact, value] of await store.facts()) {
    const node = nodeOfRound(fact);
    if (node === null) continue;
    const has = (await facts.get(SYSTEM_TENANT, fact))?.version ?? 0;
    if (has < Number(value)) gaps.push({ node, has, needs: Number(value) });
  }
  gaps.sort((a, b) => (a.node < b.node ? -1 : 1));
  const [first] = gaps;
  if (first === undefined) return;
  const word = createHash('sha256').update(JSON.stringify(gaps)).digest('hex').slice(0, 12);
  if (accepted !== word) {
    throw new SvcError(
      'failed_precondition',
      `${names.documents} is older than ${names.store}: it has round ${first.has} of node ${first.node}, the log begins ` +
        `behind round ${first.needs}, so what ended in between is in neither. Restore documents that are not older than the ` +
        `log, or accept the loss with --accept-older-documents ${word}`,
    );
  }
  for (const { node, needs } of gaps) {
    await facts.put({ tenant: SYSTEM_TENANT, id: roundFact(node), version: needs, text: '' });
  }
}

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
