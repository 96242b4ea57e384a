import type { Clock } from '../clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../documents.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { OneAtATimePerKey } from '../kit/queues.ts';
import { jittered, sleep } from '../kit/waits.ts';
import type { Unsubscribe } from '../leases.ts';
import type { Random } from '../random.ts';

/** A document of a list was written or removed. */
export interface Change {
  readonly collection: string;
  readonly id: string;
  /** Subject that alone sees it, beside operators; absent: it is the tenant's. */
  readonly owner?: string;
}

/**
 * A position in the changes of a tenant, which are numbered 1, 2, 3 … `mark` tells two changes of the same number apart:
 * documents that were restored from a backup may assign a number twice.
 */
export interface ChangePosition {
  readonly n: number;
  /** Number of the first change that was written together with it. */
  readonly first: number;
  readonly mark: string;
}

export interface NumberedChange {
  readonly position: ChangePosition;
  readonly change: Change;
}

/** Changes that were written together. The id is the number of the first one, so two writers cannot take one number. */
interface ChangesDocument extends StoredDocument {
  readonly first: number;
  readonly count: number;
  readonly mark: string;
  /** Unix ms. */
  readonly at: number;
  readonly changes: readonly Change[];
}

const CHANGES: CollectionSpec = { name: 'changes', unique: [], indexes: [] };

const DIGITS = 15;
/** Most changes in one document. */
const MOST_TOGETHER = 500;
/** Changes of a tenant that are kept. A reader that is further behind reads its lists again. */
const KEPT = 20_000;
/** Number of removals of old changes while `KEPT` new ones are appended. */
const TRIMS = 20;
/** Most documents that one read returns. */
const PAGE = 50;
/** Attempts to take the next number. One fails only when another node took that number. */
const TRIES = 40;
const PAUSE_MS = 20;
/** Tenants whose next number is remembered. */
const MOST_TENANTS = 10_000;

const idOf = (n: number): string => String(n).padStart(DIGITS, '0');

interface ChangeLogParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
  /** Changes of a tenant that are kept; default 20,000. */
  readonly kept?: number;
}

/**
 * The changes of list documents of each tenant, in one gap-free order for all nodes (docs/decisions/0038-the-feed.md). A change
 * is appended after its document is written, so a reader of the change finds it in the document. A change may occur twice.
 */
export class ChangeLog {
  readonly #documents: Collection<ChangesDocument>;
  readonly #parts: ChangeLogParts;
  readonly #queue = new OneAtATimePerKey();
  /** Next number by tenant, as far as this node knows. */
  readonly #next = new Map<string, number>();
  readonly #listeners = new Map<string, Set<() => void>>();

  static async open(parts: ChangeLogParts & { readonly documents: Documents }): Promise<ChangeLog> {
    return new ChangeLog(await parts.documents.collection<ChangesDocument>(CHANGES), parts);
  }

  constructor(documents: Collection<ChangesDocument>, parts: ChangeLogParts) {
    this.#documents = documents;
    this.#parts = parts;
  }

  /** Resolves when the changes are durable. Throws `unavailable` when they may or may not be written: append them again. */
  async append(tenant: string, changes: readonly Change[]): Promise<void> {
    for (let from = 0; from < changes.length; from += MOST_TOGETHER) {
      const some = changes.slice(from, from + MOST_TOGETHER);
      await this.#queue.run(tenant, () => this.#write(tenant, some));
    }
    for (const wake of this.#listeners.get(tenant) ?? []) wake();
  }

  /** Calls back when this node has appended changes of a tenant. Other nodes' changes are found by reading. */
  onAppend(tenant: string, wake: () => void): Unsubscribe {
    const listeners = this.#listeners.get(tenant) ?? new Set();
    this.#listeners.set(tenant, listeners.add(wake));
    return () => {
      listeners.delete(wake);
      if (listeners.size === 0) this.#listeners.delete(tenant);
    };
  }

  /** The position of the newest change. */
  async end(tenant: string): Promise<ChangePosition> {
    const [newest] = await this.#documents.find({ tenant, sort: [['id', 'desc']], limit: 1 });
    if (newest === undefined) return { n: 0, first: 0, mark: '' };
    const { first, count, mark } = newest;
    return { n: first + count - 1, first, mark };
  }

  /**
   * Returns the next changes behind a position, oldest first, at most about a page. `gone`: the position no longer exists,
   * because it is too old or the documents were restored.
   */
  async read(tenant: string, after: ChangePosition): Promise<readonly NumberedChange[] | 'gone'> {
    const page = await this.#page(tenant, after);
    // A read may find a change but not the one before it, which was written a moment earlier. The second read finds both.
    return page ?? (await this.#page(tenant, after)) ?? 'gone';
  }

  /** Null when the change behind the position is missing. */
  async #page(tenant: string, { n, first, mark }: ChangePosition): Promise<readonly NumberedChange[] | null> {
    const where = { id: { gte: idOf(Math.max(1, first)) } };
    const found = await this.#documents.find({ tenant, where, sort: [['id', 'asc']], limit: PAGE });
    const [oldest] = found;
    if (n > 0 && (oldest?.first !== first || oldest.mark !== mark)) return null;
    const changes: NumberedChange[] = [];
    let expected = n > 0 ? first : 1;
    for (const document of found) {
      if (document.first !== expected) return changes.length > 0 ? changes : null;
      for (const [index, change] of document.changes.entries()) {
        const position = { n: document.first + index, first: document.first, mark: document.mark };
        if (position.n > n) changes.push({ position, change });
      }
      expected = document.first + document.count;
    }
    return changes;
  }

  async #write(tenant: string, changes: readonly Change[]): Promise<void> {
    const { clock, random } = this.#parts;
    const mark = random.uuid().slice(0, 8);
    const count = changes.length;
    for (let tries = 1; tries <= TRIES; tries += 1) {
      const first = this.#next.get(tenant) ?? (await this.end(tenant)).n + 1;
      const written = { tenant, id: idOf(first), version: 1, first, count, mark, at: clock.now(), changes };
      if (await this.#documents.insert(written)) return this.#took(tenant, first, count);
      // An earlier copy of this call may have written it.
      if ((await this.#documents.get(tenant, idOf(first)))?.mark === mark) return this.#took(tenant, first, count);
      this.#next.delete(tenant);
      if (tries > 1) await sleep(clock, jittered(PAUSE_MS, random));
    }
    throw new SvcError('unavailable', 'too many nodes record changes of one tenant at the same time');
  }

  async #took(tenant: string, first: number, count: number): Promise<void> {
    if (!this.#next.has(tenant) && this.#next.size >= MOST_TENANTS) this.#next.clear();
    this.#next.set(tenant, first + count);
    const { kept = KEPT } = this.#parts;
    const every = Math.ceil(kept / TRIMS);
    if (Math.floor(first / every) === Math.floor((first + count) / every) || first <= kept) return;
    try {
      await this.#documents.deleteMany({ tenant, where: { id: { lt: idOf(first - kept) } } });
    } catch (thrown) {
      // They are removed with the next ones.
      this.#parts.warn('old changes of lists could not be removed', toSvcError(thrown));
    }
  }
}
