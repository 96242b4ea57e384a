import type { Blobs } from '../../runtime/blobs.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';

/** Documents and blobs that stop answering after a chosen write, as if the process had died there. */
export class CutOff {
  /** Collection whose calls fail. */
  list: string | null = null;
  #left = Number.POSITIVE_INFINITY;

  /** After this many more writes every call fails. */
  after(writes: number): void {
    this.#left = writes;
  }

  get isCut(): boolean {
    return this.#left < 0;
  }

  #read(): void {
    if (this.isCut) throw new SvcError('unavailable', 'cut off');
  }

  #write(collection?: string): void {
    this.#left -= 1;
    this.#read();
    if (collection !== undefined && collection === this.list) throw new SvcError('unavailable', 'the list is away');
  }

  documents(inner: Documents): Documents {
    return {
      open: () => inner.open(),
      close: () => inner.close(),
      collection: async <T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> =>
        this.#collection(spec.name, await inner.collection<T>(spec)),
    };
  }

  blobs(inner: Blobs): Blobs {
    return {
      open: () => inner.open(),
      close: () => inner.close(),
      get: (tenant, ref) => inner.get(tenant, ref),
      put: (tenant, bytes, owner) => inner.put(tenant, bytes, owner),
      delete: (tenant, ref) => inner.delete(tenant, ref),
      deleteOwned: async (tenant, owner) => {
        this.#write();
        await inner.deleteOwned(tenant, owner);
      },
    };
  }

  #collection<T extends StoredDocument>(name: string, real: Collection<T>): Collection<T> {
    const reading = async <R>(read: () => Promise<R>): Promise<R> => {
      this.#read();
      return read();
    };
    const writing = async <R>(write: () => Promise<R>): Promise<R> => {
      this.#write(name);
      return write();
    };
    return {
      get: (tenant, id) => reading(() => real.get(tenant, id)),
      find: (find) => reading(() => real.find(find)),
      findStored: (find) => reading(() => real.findStored(find)),
      count: (query) => reading(() => real.count(query)),
      total: (query, field) => reading(() => real.total(query, field)),
      tenants: () => reading(() => real.tenants()),
      insert: (doc) => writing(() => real.insert(doc)),
      put: (doc) => writing(() => real.put(doc)),
      putMany: (docs) => writing(() => real.putMany(docs)),
      replace: (doc, expected) => writing(() => real.replace(doc, expected)),
      delete: (tenant, id) => writing(() => real.delete(tenant, id)),
      deleteVersion: (tenant, id, expected) => writing(() => real.deleteVersion(tenant, id, expected)),
      deleteMany: (query) => writing(() => real.deleteMany(query)),
    };
  }
}
