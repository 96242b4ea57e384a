import type { Blobs } from '../../runtime/blobs.ts';
import type { Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { checkedDocuments, isWrite } from './over-documents.ts';

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

  #call(): void {
    if (this.isCut) throw new SvcError('unavailable', 'cut off');
  }

  #write(): void {
    this.#left -= 1;
    this.#call();
  }

  documents(inner: Documents): Documents {
    return checkedDocuments(inner, (method, { name }) => {
      if (!isWrite(method)) return this.#call();
      this.#write();
      if (name === this.list) throw new SvcError('unavailable', 'the list is away');
    });
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
}
