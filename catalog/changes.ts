import type { Problem } from '../manifests/schema-problems.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../runtime/documents.ts';
import { invalidField, SvcError } from '../runtime/errors.ts';
import { OneAtATimePerKey } from '../runtime/kit/queues.ts';

/** Changes of one kind in one tenant; `version` counts them. */
interface ChangeRecord extends StoredDocument {
  /** Ids of changed entries, the latest last. */
  readonly recent: readonly string[];
}

const CATALOG_CHANGES: CollectionSpec = { name: 'catalog_changes', unique: [], indexes: [] };

/** Number of ids kept. A reader that missed more compares everything. */
const RECENT = 256;

/** Other nodes write the document too; each lost race means that another write succeeded. */
const MAX_ATTEMPTS = 200;

type ChangedKind = 'agent' | 'workflow';

/**
 * The latest changes of a tenant's catalog, on all nodes: a counter and the last ids, in one document. A change is noted before
 * it is answered, so a later read of the counter includes it, independent of clocks.
 */
export class CatalogChanges {
  readonly #records: Collection<ChangeRecord>;
  readonly #kind: ChangedKind;
  /** Ids to note, by tenant, while a write is under way. */
  readonly #waiting = new Map<string, { ids: string[]; done: Promise<void> }>();
  readonly #writing = new OneAtATimePerKey();

  constructor(records: Collection<ChangeRecord>, kind: ChangedKind) {
    this.#records = records;
    this.#kind = kind;
  }

  /** Resolves when the change is noted. Changes that arrive during a write go into the next one together. */
  note(tenant: string, id: string): Promise<void> {
    const waiting = this.#waiting.get(tenant);
    if (waiting !== undefined) {
      waiting.ids.push(id);
      return waiting.done;
    }
    const ids = [id];
    const done = this.#writing.run(tenant, () => {
      this.#waiting.delete(tenant);
      return this.#write(tenant, ids);
    });
    this.#waiting.set(tenant, { ids, done });
    return done;
  }

  /** The number of changes, and the ids changed since `known`; null ids when `known` is too old. */
  async since(
    tenant: string,
    known: number,
  ): Promise<{ readonly count: number; readonly ids: readonly string[] | null }> {
    const record = await this.#records.get(tenant, this.#kind);
    if (record === null) return { count: 0, ids: known === 0 ? [] : null };
    const missed = record.version - known;
    const isTold = missed >= 0 && missed <= record.recent.length;
    return { count: record.version, ids: isTold ? record.recent.slice(record.recent.length - missed) : null };
  }

  async #write(tenant: string, ids: readonly string[]): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await this.#records.get(tenant, this.#kind);
      const recent = [...(known?.recent ?? []), ...ids].slice(-RECENT);
      const version = (known?.version ?? 0) + ids.length;
      const next = { tenant, id: this.#kind, version, recent };
      if (await (known === null ? this.#records.insert(next) : this.#records.replace(next, known.version))) return;
    }
    throw new SvcError('unavailable', 'other calls are changing the catalog; try again', { retryAfterMs: 1_000 });
  }
}

export async function openChanges(documents: Documents, kind: ChangedKind): Promise<CatalogChanges> {
  return new CatalogChanges(await documents.collection<ChangeRecord>(CATALOG_CHANGES), kind);
}

/** `invalid_manifest` with the path, line and column of each problem. */
export function invalidManifest(problems: readonly Problem[]): SvcError {
  const [first] = problems;
  const where =
    first === undefined ? '' : ` First: ${first.path || 'document'} (line ${first.line}): ${first.message}.`;
  const message = `The manifest breaks ${problems.length === 1 ? 'a rule' : `${problems.length} rules`}.${where}`;
  return new SvcError('invalid_manifest', message, { field: 'manifest_yaml', details: problems });
}

/** Maximum number of entries in a page. */
export const MAX_PAGE = 1_000;

/** Throws `invalid_argument` naming the field. */
export function checkPage(limit: number, skip: number, skipName: string): { limit: number; skip: number } {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
    throw invalidField('limit', `expected 1 to ${MAX_PAGE}`);
  if (!Number.isInteger(skip) || skip < 0 || skip > 1_000_000) throw invalidField(skipName, 'expected 0 to 1000000');
  return { limit, skip };
}
