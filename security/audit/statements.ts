import { STATEMENT_TYPE, Statement } from '../../manifests/audit/entries.ts';
import type { ChainEnd } from '../../manifests/audit/record.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { allDone } from '../../runtime/kit/queues.ts';
import { within } from '../../runtime/kit/waits.ts';
import { type SigningParts, signCompact } from '../signed-token.ts';
import type { Block } from './blocks.ts';
import { signedContent } from './signed-content.ts';

/** A chain of a tenant, with the newest statement of its node. */
export interface ChainDocument extends StoredDocument {
  /** The id: the node. */
  readonly node: string;
  /** Compact JWS; null until the first round. */
  readonly statement: string | null;
  /** Unix ms; 0 without a statement. */
  readonly signed_ms: number;
}

export const CHAINS: CollectionSpec = { name: 'audit_chains', unique: [], indexes: [['signed_ms']] };

/** Time from a write to the statement about it, and between two checks of other nodes' statements. */
const ROUND_MS = 10_000;

/** Statements that are older than this were read before, unless the clocks of two nodes differ by more. */
const LOOK_BACK_MS = 600_000;

const PAGE = 500;

/** Tenants whose chains are checked, and stated, at a time. */
const AT_ONCE = 16;

/** Most chains of one statement. */
const MOST_ENDS = 1_000;

interface End {
  readonly sequence: number;
  readonly hash: string;
}

type Ends = Map<string, End>;

interface StatementsParts {
  readonly node: string;
  readonly chains: Pick<Collection<ChainDocument>, 'find' | 'insert' | 'put'>;
  readonly blocks: Pick<Collection<Block>, 'find'>;
  readonly signing: SigningParts;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
  /** The ends of the chains that this process wrote. */
  readonly ends: () => Iterable<readonly [tenant: string, end: ChainEnd]>;
  /** Whether other nodes share the documents. */
  readonly isFleet: boolean;
}

/**
 * Signs statements about the ends of audit chains: those of this node, and those in the statements of other nodes. A node never
 * states an earlier end than it has seen, so a chain that was cut or rewritten contradicts the statement of another node.
 */
export class Statements {
  readonly #parts: StatementsParts;
  readonly #known = new Map<string, Ends>();
  /** Tenants with new records or statements since their last statement. */
  readonly #news = new Set<string>();
  /** Versions of the documents that were read. */
  readonly #read = new Map<string, number>();
  #cancel: (() => void) | null = null;
  #round: Promise<void> | null = null;
  #hasRead = false;
  #hasSigned = false;
  #isClosed = false;

  constructor(parts: StatementsParts) {
    this.#parts = parts;
    if (parts.isFleet) this.#arm();
  }

  /** Lists the chain, so that it is found before its first statement. Never throws. */
  async opened(tenant: string): Promise<void> {
    const { node, chains, warn } = this.#parts;
    const chain = { tenant, id: node, version: 1, node, statement: null, signed_ms: 0 };
    await chains.insert(chain).catch((thrown: unknown) => warn('an audit chain could not be listed', thrown));
  }

  /** Notes that the chain of this node has new records. */
  wrote(): void {
    this.#arm();
  }

  /** Whether this end of this node's chain is in a stored statement. */
  hasStated(tenant: string, { sequence }: ChainEnd): boolean {
    const known = this.#known.get(tenant)?.get(this.#parts.node);
    return known !== undefined && known.sequence >= sequence && !this.#news.has(tenant);
  }

  /** A statement about the current ends of a tenant's chains, which were just read from the store. */
  async now(tenant: string, stored: Iterable<readonly [node: string, end: ChainEnd]>): Promise<string> {
    for (const [node, end] of stored) await this.#learn(tenant, node, end);
    return this.#sign(tenant);
  }

  /** Reads and signs. Rounds do not overlap. */
  round(): Promise<void> {
    this.#round ??= this.#runRound().finally(() => {
      this.#round = null;
    });
    return this.#round;
  }

  /**
   * Signs once more, for at most `waitMs`, unless this process never signed, so that a short run creates no keys when it ends.
   * A later statement, after the next entry of the tenant, covers what is not signed then.
   */
  async close(waitMs: number): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    const last = async (): Promise<void> => {
      await this.#round;
      if (this.#hasSigned) await this.#runRound();
    };
    await within(this.#parts.clock, waitMs, last());
  }

  #arm(): void {
    if (this.#isClosed) return;
    this.#cancel ??= this.#parts.clock.after(ROUND_MS, () => {
      this.#cancel = null;
      void this.round().then(() => {
        if (this.#parts.isFleet) this.#arm();
      });
    });
  }

  /** Never throws: the next round repeats what failed. */
  async #runRound(): Promise<void> {
    const { node, ends, isFleet, warn } = this.#parts;
    try {
      if (isFleet || !this.#hasRead) await this.#readOthers();
      this.#hasRead = true;
      await someAtOnce([...ends()], ([tenant, end]) => this.#learn(tenant, node, end));
      await someAtOnce([...this.#news], (tenant) => this.#state(tenant));
    } catch (thrown) {
      warn('the statement about the audit chains could not be signed; the next round tries again', thrown);
      this.#arm();
    }
  }

  async #readOthers(): Promise<void> {
    const { chains, clock } = this.#parts;
    const since = this.#hasRead ? clock.now() - LOOK_BACK_MS : 1;
    for (let skip = 0; ; skip += PAGE) {
      const where = { signed_ms: { gte: since } };
      const found = await chains.find({ tenant: null, where, sort: [['signed_ms', 'asc']], limit: PAGE, skip });
      for (const chain of found) await this.#readOne(chain);
      if (found.length < PAGE) return;
    }
  }

  async #readOne({ tenant, node, version, statement }: ChainDocument): Promise<void> {
    const key = `${tenant}/${node}`;
    if (statement === null || this.#read.get(key) === version) return;
    const isOwn = node === this.#parts.node;
    const { signing, warn } = this.#parts;
    const said = await signedContent(statement, { typ: STATEMENT_TYPE, schema: Statement, signing });
    this.#read.set(key, version);
    // The key of a node that ended long ago is no longer published.
    if (said === 'unknown') return;
    if (said === null || said.tenant !== tenant || said.by !== node) {
      return warn(`the audit statement of node ${node}, tenant ${tenant} has no valid signature`, null);
    }
    // A statement about other nodes' chains proves nothing to a third node, but this node's own earlier statements hold.
    for (const end of said.ends) if (isOwn || end.node === node) await this.#learn(tenant, end.node, end);
    if (isOwn) this.#news.delete(tenant);
  }

  /**
   * Accepts a newer end if the chain in the store still contains the end that was known before. Otherwise the known end
   * stays in all further statements, as proof that the chain was rewritten.
   */
  async #learn(tenant: string, node: string, { sequence, hash }: ChainEnd): Promise<void> {
    if (hash === null) return;
    const ends: Ends = this.#known.get(tenant) ?? new Map();
    this.#known.set(tenant, ends);
    const known = ends.get(node);
    if (known !== undefined && known.sequence > sequence) return;
    const isSame = known?.sequence === sequence ? known.hash === hash : await this.#continues(tenant, node, known);
    if (!isSame) {
      this.#parts.warn(
        `the audit chain of node ${node}, tenant ${tenant} was changed: an earlier statement names another end`,
        null,
      );
    } else if (known?.sequence !== sequence) {
      ends.set(node, { sequence, hash });
      this.#news.add(tenant);
    }
  }

  /** Whether the chain in the store has this record, or its beginning was removed because of its age. */
  async #continues(tenant: string, node: string, known: End | undefined): Promise<boolean> {
    if (known === undefined) return true;
    const { blocks } = this.#parts;
    const sort = [['last', 'asc']] as const;
    const [block] = await blocks.find({ tenant, where: { node, last: { gte: known.sequence } }, sort, limit: 1 });
    const record = block?.records.find(({ sequence }) => sequence === known.sequence);
    if (record !== undefined) return record.hash === known.hash;
    const [first] = await blocks.find({ tenant, where: { node }, sort, limit: 1 });
    return first !== undefined && first.first > known.sequence;
  }

  async #state(tenant: string): Promise<void> {
    const { node, chains, clock } = this.#parts;
    const statement = await this.#sign(tenant);
    const signed_ms = clock.now();
    const version = Math.max(signed_ms, (this.#read.get(`${tenant}/${node}`) ?? 0) + 1);
    await chains.put({ tenant, id: node, version, node, statement, signed_ms });
    this.#read.set(`${tenant}/${node}`, version);
    this.#news.delete(tenant);
  }

  async #sign(tenant: string): Promise<string> {
    const { node, signing, clock } = this.#parts;
    const ends = [...(this.#known.get(tenant) ?? [])].slice(0, MOST_ENDS);
    const statement: Statement = {
      tenant,
      by: node,
      signed_at: new Date(clock.now()).toISOString(),
      ends: ends.map(([of, { sequence, hash }]) => ({ node: of, sequence, hash })),
    };
    const signed = await signCompact(statement, STATEMENT_TYPE, signing);
    this.#hasSigned = true;
    return signed;
  }
}

async function someAtOnce<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await allDone(all.slice(at, at + AT_ONCE).map(work));
}
