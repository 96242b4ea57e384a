import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';

/** Documents in whose collections some methods are replaced. */
export const overDocuments = (
  inner: Documents,
  replaced: <T extends StoredDocument>(real: Collection<T>, spec: CollectionSpec) => Partial<Collection<T>>,
): Documents => ({
  open: () => inner.open(),
  close: () => inner.close(),
  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    const real = await inner.collection<T>(spec);
    const own = replaced(real, spec);
    return new Proxy(real, {
      get(target, name) {
        const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  },
});

/** Documents whose collections run `check` before each call. A call whose check throws is not made. */
export const checkedDocuments = (
  inner: Documents,
  check: (method: string, spec: CollectionSpec) => void,
): Documents => ({
  open: () => inner.open(),
  close: () => inner.close(),
  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    const real = await inner.collection<T>(spec);
    return new Proxy(real, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]): Promise<unknown> => {
          check(String(name), spec);
          return value.apply(target, args);
        };
      },
    });
  },
});

const READS = new Set(['get', 'find', 'findStored', 'count', 'total', 'tenants']);

/** Whether a method of a collection changes it. */
export const isWrite = (method: string): boolean => !READS.has(method);
