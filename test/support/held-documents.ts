import type { Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { overDocuments } from './over-documents.ts';

/** Counts the documents of each write, and can hold all of them back. */
export class HeldDocuments {
  isDown = true;
  /** Writes into what is held back. */
  tried = 0;
  readonly sizes = new Map<string, number[]>();
  readonly #held: string | undefined;

  /** `held` is the only collection that is held back. Default: all are. */
  constructor(held?: string) {
    this.#held = held;
  }

  over(inner: Documents): Documents {
    return overDocuments(inner, (real, { name }) => ({
      putMany: async (docs) => {
        const isHeld = this.#held === undefined || this.#held === name;
        if (isHeld) this.tried += 1;
        if (isHeld && this.isDown) throw new SvcError('unavailable', 'documents are away');
        this.sizes.set(name, [...(this.sizes.get(name) ?? []), docs.length]);
        await real.putMany(docs);
      },
    }));
  }
}
