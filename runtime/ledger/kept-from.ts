import type { Collection, Documents, StoredDocument } from '../documents.ts';

const KEPT = { name: 'ledger_kept', unique: [], indexes: [] } as const;
const ID = 'from';

/** Since when deliveries of each tenant are kept. Retention notes it before it removes segments. */
export class KeptFrom {
  readonly #kept: Collection<StoredDocument>;

  static async open(documents: Documents): Promise<KeptFrom> {
    return new KeptFrom(await documents.collection<StoredDocument>(KEPT));
  }

  constructor(kept: Collection<StoredDocument>) {
    this.#kept = kept;
  }

  /** Unix ms from which on deliveries are kept; null when none was removed. */
  async of(tenant: string): Promise<number | null> {
    return (await this.#kept.get(tenant, ID))?.version ?? null;
  }

  /** Whether something was removed of any tenant. */
  async any(): Promise<boolean> {
    return (await this.#kept.findStored({ tenant: null, limit: 1 })).length > 0;
  }

  /** Notes that segments up to this time are removed. An earlier time than a known one changes nothing. */
  async note(tenant: string, removedTo: number): Promise<void> {
    await this.#kept.put({ tenant, id: ID, version: Math.floor(removedTo) + 1 });
  }
}
