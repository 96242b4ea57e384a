import type {
  Collection,
  Condition,
  Find,
  Position,
  Query,
  Scalar,
  Stored,
  StoredDocument,
} from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';

/** The documents of the property tests. */
export interface Thing extends StoredDocument {
  readonly n?: number | null;
  readonly s?: string | null;
  readonly b?: boolean | null;
  readonly mixed?: unknown;
}

/** In queries a missing or non-scalar value counts as null. */
function scalarOf(doc: StoredDocument, field: string): Scalar {
  const value: unknown = Object.entries(doc).find(([name]) => name === field)?.[1];
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

const rank = (value: Scalar): number => ['object', 'number', 'string', 'boolean'].indexOf(typeof value);

function order(a: Scalar, b: Scalar): number {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Number(a) - Number(b);
}

function holds(value: Scalar, condition: Condition): boolean {
  if (condition === null || typeof condition !== 'object') return value === condition;
  if ('in' in condition) return condition.in.includes(value);
  const against = (limit: number | string | undefined, test: (sign: number) => boolean) =>
    limit === undefined || (typeof value === typeof limit && test(order(value, limit)));
  return (
    against(condition.gt, (sign) => sign > 0) &&
    against(condition.gte, (sign) => sign >= 0) &&
    against(condition.lt, (sign) => sign < 0) &&
    against(condition.lte, (sign) => sign <= 0)
  );
}

/** Whether it comes after a position that contains the id, or `tenant/id` when the order is over all tenants. */
function isBehind(doc: Thing, { tenant, sort = [] }: Find, after: Position): boolean {
  const last = sort.at(-1)?.[1] ?? 'asc';
  for (const [at, value] of after.entries()) {
    const [field, direction] = sort[at] ?? ['', last];
    const key = tenant === null ? `${doc.tenant}/${doc.id}` : doc.id;
    const sign = order(field === '' ? key : scalarOf(doc, field), value);
    if (sign !== 0) return direction === 'asc' ? sign > 0 : sign < 0;
  }
  return false;
}

/** A simple model of a Collection; `s` is unique inside a tenant. */
export class ModelCollection implements Collection<Thing> {
  readonly #docs = new Map<string, Thing>();

  async insert(doc: Thing): Promise<boolean> {
    if (this.#stored(doc) !== undefined || this.#isTaken(doc)) return false;
    this.#docs.set(`${doc.tenant}/${doc.id}`, doc);
    return true;
  }

  async put(doc: Thing): Promise<boolean> {
    const stored = this.#stored(doc);
    if (stored !== undefined && stored.version >= doc.version) return false;
    return this.#write(doc);
  }

  async putMany(docs: readonly Thing[]): Promise<void> {
    for (const doc of docs) await this.put(doc);
  }

  async replace(doc: Thing, expected: number): Promise<boolean> {
    return this.#stored(doc)?.version === expected && this.#write(doc);
  }

  async get(tenant: string, id: string): Promise<Thing | null> {
    return this.#docs.get(`${tenant}/${id}`) ?? null;
  }

  async find(find: Find): Promise<Thing[]> {
    const last = find.sort?.at(-1)?.[1] ?? 'asc';
    const terms = [...(find.sort ?? []), ['key', last] as const];
    const sorted = this.#matching(find).sort(([keyA, a], [keyB, b]) => {
      for (const [field, direction] of terms) {
        const sign = field === 'key' ? order(keyA, keyB) : order(scalarOf(a, field), scalarOf(b, field));
        if (sign !== 0) return direction === 'asc' ? sign : -sign;
      }
      return 0;
    });
    const { after, skip = 0 } = find;
    const behind = after === undefined ? sorted : sorted.filter(([, doc]) => isBehind(doc, find, after));
    return behind.slice(skip, skip + find.limit).map(([, doc]) => doc);
  }

  async findStored(find: Find): Promise<Stored[]> {
    return (await this.find(find)).map(({ tenant, id, version }) => ({ tenant, id, version }));
  }

  async count(query: Query): Promise<number> {
    return this.#matching(query).length;
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    return this.#docs.delete(`${tenant}/${id}`);
  }

  async deleteVersion(tenant: string, id: string, expected: number): Promise<boolean> {
    const key = `${tenant}/${id}`;
    return this.#docs.get(key)?.version === expected && this.#docs.delete(key);
  }

  async deleteMany(query: Query): Promise<number> {
    const found = this.#matching(query);
    for (const [key] of found) this.#docs.delete(key);
    return found.length;
  }

  async total(query: Query, field: string): Promise<number> {
    const values = this.#matching(query).map(([, doc]) => scalarOf(doc, field));
    return values.reduce<number>((sum, value) => sum + (typeof value === 'number' ? value : 0), 0);
  }

  async tenants(): Promise<string[]> {
    return [...new Set([...this.#docs.values()].map(({ tenant }) => tenant))];
  }

  #stored(doc: Thing): Thing | undefined {
    return this.#docs.get(`${doc.tenant}/${doc.id}`);
  }

  #isTaken(doc: Thing): boolean {
    if (scalarOf(doc, 's') === null) return false;
    return [...this.#docs.values()].some((one) => one.tenant === doc.tenant && one.id !== doc.id && one.s === doc.s);
  }

  #write(doc: Thing): boolean {
    if (this.#isTaken(doc)) throw new SvcError('conflict');
    this.#docs.set(`${doc.tenant}/${doc.id}`, doc);
    return true;
  }

  #matching(query: Query): [string, Thing][] {
    return [...this.#docs].filter(
      ([, doc]) =>
        (query.tenant === null || doc.tenant === query.tenant) &&
        Object.entries(query.where ?? {}).every(([field, condition]) => holds(scalarOf(doc, field), condition)),
    );
  }
}
