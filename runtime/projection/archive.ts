import type { ActorStore } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { parseAddress, tenantOf } from '../address.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../documents.ts';

/** An ended actor in Documents. The fields for retention are absent in documents of earlier versions. */
export interface ArchivedActor extends StoredDocument {
  readonly kind: string;
  /** Packed record, as it was in the store. */
  readonly record: string;
  readonly last_event: number;
  /** Name of the retention rule that applies. */
  readonly retained_as?: string;
  /** When it was archived, moments after its end, Unix ms. */
  readonly ended_at?: number;
  /** Characters of its record and events. */
  readonly bytes?: number;
  /** Address of the actor that it belongs to, or null. */
  readonly parent?: string | null;
  /** Id of its document in the list of its kind. */
  readonly view_id?: string;
}

/** The fields that retention needs. */
export interface Retained {
  readonly retainedAs: string;
  readonly endedAt: number;
  /** Characters of the unpacked record. */
  readonly bytes: number;
  readonly parent: Address | null;
  readonly viewId: string;
}

/** An actor to be archived. */
export interface EndedActor extends Retained {
  readonly partition: Partition;
  readonly address: Address;
  readonly record: string;
  readonly revision: number;
  readonly lastEvent: number;
}

interface ArchivedEvents extends StoredDocument {
  readonly address: string;
  readonly first: number;
  /** Packed events with the numbers `first`, `first + 1`, … */
  readonly data: readonly string[];
}

/** Ended actors, in the order in which they may be removed. */
export const ARCHIVED_ACTORS: CollectionSpec = {
  name: 'archived_actors',
  unique: [],
  indexes: [['kind'], ['retained_as', 'ended_at', 'bytes'], ['parent']],
};

/** Events in one archived document. With 64 KiB each they stay under a document store's limit of 16 MB. */
export const SEGMENT_EVENTS = 200;

/** Most events in memory at a time, of actors that are archived together. */
const EVENTS_AT_ONCE = 16 * SEGMENT_EVENTS;

/** Most actors that are archived together. */
const MOST_TOGETHER = 64;

/**
 * Id of a segment. All segments but the last are full, so the id of the one with a given event is known without a
 * search.
 */
const segmentId = (address: Address, first: number): string => `${address}#${first}`;

function segmentOf(address: Address, events: readonly { seq: number; data: string }[]): ArchivedEvents | null {
  const first = events[0]?.seq;
  if (first === undefined) return null;
  const data = events.map((event) => event.data);
  return { tenant: tenantOf(address), id: segmentId(address, first), version: data.length, address, first, data };
}

function archived(actor: Omit<EndedActor, 'partition'>): ArchivedActor {
  return {
    tenant: tenantOf(actor.address),
    id: actor.address,
    version: actor.revision,
    kind: parseAddress(actor.address).kind,
    record: actor.record,
    last_event: actor.lastEvent,
    retained_as: actor.retainedAs,
    ended_at: actor.endedAt,
    bytes: actor.bytes,
    parent: actor.parent,
    view_id: actor.viewId,
  };
}

/** Actors in parts of limited size. Short ones share few writes, since each write of documents waits for the disk. */
function* partsOf(ended: readonly EndedActor[]): Generator<readonly EndedActor[]> {
  let [some, events]: [EndedActor[], number] = [[], 0];
  for (const actor of ended) {
    const more = Math.min(actor.lastEvent, SEGMENT_EVENTS);
    if (some.length === MOST_TOGETHER || events + more > EVENTS_AT_ONCE) {
      yield some;
      [some, events] = [[], 0];
    }
    some.push(actor);
    events += more;
  }
  if (some.length > 0) yield some;
}

/**
 * The archive of ended actors (K8): their records and events move to Documents, so that the actor store keeps only live
 * actors. Every write is idempotent: archiving again after a crash writes the same documents.
 */
export class Archive {
  readonly #actors: Collection<ArchivedActor>;
  readonly #events: Collection<ArchivedEvents>;

  static async open(documents: Documents): Promise<Archive> {
    return new Archive(
      await documents.collection<ArchivedActor>(ARCHIVED_ACTORS),
      await documents.collection<ArchivedEvents>({
        name: 'archived_events',
        unique: [],
        indexes: [['address', 'first']],
      }),
    );
  }

  constructor(actors: Collection<ArchivedActor>, events: Collection<ArchivedEvents>) {
    this.#actors = actors;
    this.#events = events;
  }

  async loadRecord(address: Address): Promise<string | null> {
    const { tenant } = parseAddress(address);
    const found = await this.#actors.get(tenant, address);
    return found?.record ?? null;
  }

  /** The revision at which each actor ended. Actors that the archive does not know are absent. */
  async revisions(addresses: readonly Address[]): Promise<Map<string, number>> {
    const revisions = new Map<string, number>();
    for (const [tenant, ids] of Map.groupBy(addresses, (address) => parseAddress(address).tenant)) {
      const found = await this.#actors.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
      for (const { id, version } of found) revisions.set(id, version);
    }
    return revisions;
  }

  /**
   * Copies records and events of ended actors out of the store, several in one write. Events are written first: a
   * record in the archive means that everything is there.
   */
  async store(store: Pick<ActorStore, 'readEvents'>, ended: readonly EndedActor[]): Promise<void> {
    for (const some of partsOf(ended)) {
      const bytes = await this.#storeEvents(store, some);
      await this.#actors.putMany(
        some.map((actor, index) => archived({ ...actor, bytes: actor.bytes + (bytes[index] ?? 0) })),
      );
    }
  }

  /** Writes events of an actor behind those that were written before, `SEGMENT_EVENTS` in each call but the last. */
  async storeEvents(address: Address, events: readonly { seq: number; data: string }[]): Promise<void> {
    const segment = segmentOf(address, events);
    if (segment !== null) await this.#events.put(segment);
  }

  /** Writes the record of an actor whose events are written. */
  async storeRecord(actor: Omit<EndedActor, 'partition'>): Promise<void> {
    await this.#actors.put(archived(actor));
  }

  /** Writes the events. Returns the characters of each actor's events. */
  async #storeEvents(store: Pick<ActorStore, 'readEvents'>, ended: readonly EndedActor[]): Promise<number[]> {
    const chars = ended.map(() => 0);
    const after = ended.map(() => 0);
    for (let left = [...ended.keys()]; left.length > 0; ) {
      left = left.filter((index) => (after[index] ?? 0) < (ended[index]?.lastEvent ?? 0));
      const segments = await Promise.all(
        left.map(async (index) => {
          const actor = ended[index];
          if (actor === undefined) return null;
          const events = await store.readEvents(actor.partition, actor.address, after[index] ?? 0, SEGMENT_EVENTS);
          const last = events[events.length - 1]?.seq;
          // An earlier run archived and removed these events: those documents stay.
          after[index] = last ?? actor.lastEvent;
          for (const { data } of events) chars[index] = (chars[index] ?? 0) + data.length;
          return segmentOf(actor.address, events);
        }),
      );
      await this.#events.putMany(segments.filter((segment) => segment !== null));
    }
    return chars;
  }

  async readEvents(address: Address, after: number, limit: number): Promise<{ seq: number; data: string }[]> {
    const { tenant } = parseAddress(address);
    const read: { seq: number; data: string }[] = [];
    const from = Math.floor(after / SEGMENT_EVENTS) * SEGMENT_EVENTS + 1;
    const count = Math.min(1_000, Math.ceil(limit / SEGMENT_EVENTS) + 1);
    const segments: ArchivedEvents[] = [];
    for (let first = from; segments.length < count; first += SEGMENT_EVENTS) {
      const segment = await this.#events.get(tenant, segmentId(address, first));
      if (segment === null) break;
      segments.push(segment);
    }
    for (const segment of segments) {
      for (const [index, data] of segment.data.entries()) {
        const seq = segment.first + index;
        if (seq > after && read.length < limit) read.push({ seq, data });
      }
    }
    return read;
  }

  /** Deletes the record of an archived actor for good. Without it nothing of the actor can be read. */
  removeRecord(address: Address): Promise<boolean> {
    return this.#actors.delete(tenantOf(address), address);
  }

  /** Deletes the events of actors of one tenant, after their records. */
  async removeEvents(tenant: string, addresses: readonly Address[]): Promise<void> {
    await this.#events.deleteMany({ tenant, where: { address: { in: addresses } } });
  }
}
