import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';

/** The same store for a process that dies after this number of writes: every later one fails and has no effect. */
export function crashingDocuments(documents: Documents, writes: number): Documents {
  let left = writes;
  const alive = <A extends readonly unknown[], R>(write: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (left === 0) throw new Error('the process is dead');
      left -= 1;
      return write(...args);
    };
  };
  return {
    open: async () => undefined,
    close: async () => undefined,
    async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
      const real = await documents.collection<T>(spec);
      return {
        insert: alive((doc: T) => real.insert(doc)),
        put: alive((doc: T) => real.put(doc)),
        putMany: alive((docs: readonly T[]) => real.putMany(docs)),
        replace: alive((doc: T, expected: number) => real.replace(doc, expected)),
        get: (tenant, id) => real.get(tenant, id),
        find: (find) => real.find(find),
        findStored: (find) => real.findStored(find),
        count: (query) => real.count(query),
        delete: alive((tenant: string, id: string) => real.delete(tenant, id)),
        deleteVersion: alive((tenant: string, id: string, expected: number) =>
          real.deleteVersion(tenant, id, expected),
        ),
        deleteMany: alive((query) => real.deleteMany(query)),
        total: alive((query, field) => real.total(query, field)),
        tenants: alive(() => real.tenants()),
      };
    },
  };
}
