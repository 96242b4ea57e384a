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
 * Numbers the rounds in which a node removes projected entries from the log. The number is written into the documents
 * first, then into the actor store, and then the log is trimmed. So a round that is in the actor store but not in the
 * documents means that the documents are older than the log: a backup of them was restored.
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

  /**
   * Call it between the writes into documents and the trim of the log. Throws `unavailable`: nothing may be trimmed
   * then.
   */
  async finish(): Promise<void> {
    this.#last += 1;
    const round = this.#last;
    await this.#facts.put({ tenant: SYSTEM_TENANT, id: this.#name, version: round, text: '' });
    await this.#store.keepFact(this.#name, String(round));
  }
}

interface Gap {
  readonly node: string;
  /** Rounds in the documents, and rounds in the log. */
  readonly has: number;
  readonly needs: number;
}

/**
 * Throws `failed_precondition` when the documents are older than the log, unless `accepted` is the confirmation that
 * the error names, which is valid for this loss only. After it the documents count as complete.
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

/** A log served here, and how far its journal is projected. */
export interface Source {
  readonly server: LogServer;
  /** Commits that are not in the ledger yet, oldest first. They stay in memory so that the journal need not be read. */
  pending: ProjectedCommit[];
  /** How many of these have the views of their actors written. */
  viewed: number;
  /** Size of the bodies in `pending`, in characters. */
  chars: number;
  /**
   * Rows up to this position must be read from the journal; later ones are in memory. It is the last row when the
   * partition was taken over, or when memory ran full.
   */
  readBackTo: number;
  /** Position up to which the journal is in the documents. */
  projected: number;
}

/**
 * Most characters in memory while documents are unavailable, for all logs together: one log alone may have all
 * partitions of the node.
 */
const MAX_CHARS = 64_000_000;

const sizeOf = (commit: ProjectedCommit): number => commit.entries.reduce((sum, { body }) => sum + body.length, 100);

/** The logs whose journals this node projects, with their commits in memory, up to a limit. */
export class Sources {
  readonly #sources = new Map<Log, Source>();
  /** Characters of all commits in memory. */
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
    // Documents have been unavailable for long: commits that do not fit into memory wait in the journal.
    if (this.#chars > MAX_CHARS) {
      this.#chars -= source.chars;
      Object.assign(source, { pending: [], viewed: 0, chars: 0, readBackTo: commit.upTo });
    }
  }

  /** Frees the commits up to `upTo`, which are in the documents. */
  release(source: Source, upTo: number): void {
    const left = source.pending.filter((commit) => commit.upTo > upTo);
    // Memory may have run full meanwhile, so that none of them is left.
    source.viewed = Math.max(0, source.viewed - (source.pending.length - left.length));
    source.pending = left;
    const chars = left.reduce((sum, commit) => sum + sizeOf(commit), 0);
    if (this.#sources.get(source.server.lease.log) === source) this.#chars += chars - source.chars;
    source.chars = chars;
  }
}
