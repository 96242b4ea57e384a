import { positionOf } from '../../runtime/documents/document-query.ts';
import type { Collection, Find } from '../../runtime/documents.ts';
import type { OwnedStorageEvent, StorageTail } from '../../usecases/ports/volumes.ts';
import { orderFrom, type StorageEventDocument } from './event-record.ts';

/** Nodes write their events in batches and by their own clocks: how far back new ones are looked for. */
const OVERLAP_MS = 5_000;

/** Documents of one query. */
const PAGE = 1_000;

/** Queries of one look. */
const MOST_PAGES = 3;

interface TailParts {
  readonly documents: Pick<Collection<StorageEventDocument>, 'find'>;
  readonly clock: { now(): number };
  readonly tenant: string;
}

/** Follows the storage events of a tenant, whichever node writes them. Each event is returned once. */
export class EventTail implements StorageTail {
  readonly #parts: TailParts;
  #seen: ReadonlySet<string> = new Set();
  #lookedAt: number;

  static async open(parts: TailParts): Promise<EventTail> {
    const tail = new EventTail(parts);
    await tail.read(0);
    return tail;
  }

  private constructor(parts: TailParts) {
    this.#parts = parts;
    this.#lookedAt = parts.clock.now();
  }

  async read(most: number): ReturnType<StorageTail['read']> {
    const stored = await this.#stored();
    const fresh = stored.filter(({ id }) => !this.#seen.has(id));
    this.#seen = new Set(stored.map(({ id }) => id));
    const events = fresh.slice(0, most).map(eventOf);
    return { events, skipped: fresh.length - events.length };
  }

  /** The newest events since some time before the last look, oldest first. */
  async #stored(): Promise<StorageEventDocument[]> {
    const { documents, clock, tenant } = this.#parts;
    const where = { order: { gte: orderFrom(this.#lookedAt - OVERLAP_MS) } };
    this.#lookedAt = clock.now();
    const of: Omit<Find, 'limit'> = { tenant, where, sort: [['order', 'desc']] };
    const stored: StorageEventDocument[] = [];
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const last = stored.at(-1);
      const after = last === undefined ? {} : { after: positionOf(of, last) };
      const found = await documents.find({ ...of, ...after, limit: PAGE });
      stored.push(...found);
      // What is older than a page of known ones is known.
      if (found.length < PAGE || found.every(({ id }) => this.#seen.has(id))) break;
    }
    return stored.reverse();
  }
}

const eventOf = ({ id: _id, version: _version, order: _order, ...event }: StorageEventDocument): OwnedStorageEvent =>
  event;
