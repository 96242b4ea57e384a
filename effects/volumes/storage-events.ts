import type { Clock } from '../../runtime/clock.ts';
import { positionOf } from '../../runtime/documents/document-query.ts';
import { type Page, type PageAsked, pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection, CollectionSpec, Find, StoredDocument } from '../../runtime/documents.ts';
import type { Random } from '../../runtime/random.ts';
import type { OwnedStorageEvent, StorageEvent, StorageEventFilter, StorageTail } from '../../usecases/ports/volumes.ts';

/** The newest storage events of each volume. */
export const STORAGE_EVENT_DOCUMENTS: CollectionSpec = {
  name: 'storage_events',
  unique: [],
  indexes: [['volume_id', 'order'], ['order']],
};

export interface StorageEventDocument extends OwnedStorageEvent, StoredDocument {
  /** Time and counter, for the order of events. */
  readonly order: string;
}

const shown = ({
  id: _id,
  version: _version,
  order: _order,
  owner: _owner,
  ...event
}: StorageEventDocument): StorageEvent => event;

/** Beginning of the order of events from a time on. */
const orderFrom = (ms: number): string => String(ms).padStart(15, '0');

const WRITE_EVERY_MS = 100;

const MAX_WAITING = 10_000;

const KEPT = 1_000;

const PRUNE_EVERY = 200;

/** Passes events to a sink at once and writes documents in batches later, so that file operations do not wait for the database. */
export class EventRecord {
  readonly #documents: Collection<StorageEventDocument>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #sink: (event: OwnedStorageEvent) => void;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #kept: number;
  readonly #sincePruned = new Map<string, number>();
  #waiting: StorageEventDocument[] = [];
  #writing: Promise<void> = Promise.resolve();
  #cancel: (() => void) | null = null;
  #count = 0;

  constructor(parts: {
    readonly documents: Collection<StorageEventDocument>;
    readonly clock: Clock;
    readonly random: Random;
    readonly sink?: (event: OwnedStorageEvent) => void;
    readonly warn: (message: string, error: unknown) => void;
    /** Events kept of each volume. */
    readonly kept?: number;
  }) {
    this.#documents = parts.documents;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#sink = parts.sink ?? (() => {});
    this.#warn = parts.warn;
    this.#kept = parts.kept ?? KEPT;
  }

  publish(event: Omit<OwnedStorageEvent, 'at'>): void {
    const now = this.#clock.now();
    const whole: OwnedStorageEvent = { ...event, at: new Date(now).toISOString() };
    this.#sink(whole);
    this.#count += 1;
    const order = `${orderFrom(now)}-${String(this.#count).padStart(10, '0')}`;
    this.#waiting.push({ ...whole, id: this.#random.uuid(), version: 1, order });
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting.shift();
      if (this.#count % 1_000 === 0)
        this.#warn('storage events come faster than they can be written: the oldest are dropped', null);
    }
    this.#cancel ??= this.#clock.after(WRITE_EVERY_MS, () => this.#write());
  }

  /** A page of a volume's events, newest first, with those that were published before the call. */
  async list(
    tenant: string,
    volumeId: string,
    { event, path }: StorageEventFilter,
    page: PageAsked,
  ): Promise<Page<StorageEvent>> {
    await this.flush();
    const named = { ...(event === undefined ? {} : { event }), ...(path === undefined ? {} : { path }) };
    const sort = [['order', 'desc']] as const;
    const of = { tenant, where: { volume_id: volumeId, ...named }, sort };
    return shownPage(await pageOf(this.#documents, 'storage events', of, page), shown);
  }

  /** Resolves when all published events are written or have failed. */
  async flush(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #write(): void {
    this.#cancel?.();
    this.#cancel = null;
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length === 0) return;
    this.#writing = this.#writing
      .then(() => this.#documents.putMany(batch))
      .then(() => this.#prune(batch))
      .catch((error: unknown) => this.#warn('storage events could not be written', error));
  }

  /** Deletes the oldest events of a volume from time to time. */
  async #prune(batch: readonly StorageEventDocument[]): Promise<void> {
    for (const { tenant, volume_id } of batch) {
      const key = `${tenant}/${volume_id}`;
      const since = (this.#sincePruned.get(key) ?? 0) + 1;
      this.#sincePruned.set(key, since);
      if (since < PRUNE_EVERY) continue;
      this.#sincePruned.delete(key);
      const where = { volume_id };
      const sort = [['order', 'desc']] as const;
      const [oldestKept] = await this.#documents.find({ tenant, where, sort, limit: 1, skip: this.#kept - 1 });
      if (oldestKept === undefined) continue;
      await this.#documents.deleteMany({ tenant, where: { volume_id, order: { lt: oldestKept.order } } });
    }
    if (this.#sincePruned.size > MAX_WAITING) this.#sincePruned.clear();
  }
}

/** How far back new events are searched for, because nodes write their events in batches and by their own clocks. */
const OVERLAP_MS = 5_000;

/** Documents of one query. */
const PAGE = 1_000;

/** Most queries of one read. */
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

  /** The newest events since some time before the last read, oldest first. */
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
      // All events that are older than a page of known ones are known.
      if (found.length < PAGE || found.every(({ id }) => this.#seen.has(id))) break;
    }
    return stored.reverse();
  }
}

const eventOf = ({ id: _id, version: _version, order: _order, ...event }: StorageEventDocument): OwnedStorageEvent =>
  event;
