import type { ActorStore } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { parseAddress, tenantOf } from '../address.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../documents.ts';

/** An ended actor as Documents keep it. The fields for retention are absent in what earlier versions wrote. */
export interface ArchivedActor extends StoredDocument {
  readonly kind: string;
  /** Packed record, as the store kept it. */
  readonly record: string;
  readonly last_event: number;
  /** Which rule of retention applies to it. */
  readonly retained_as?: string;
  /** When it was archived, moments after its end, Unix ms. */
  readonly ended_at?: number;
  /** Characters of its record and events. */
  readonly bytes?: number;
  /** Address of the actor it belongs to, or null. */
  readonly parent?: string | null;
  /** Id of its document in the list of its kind. */
  readonly view_id?: string;
}

/** What retention goes by. */
export interface Retained {
  readonly retainedAs: string;
  readonly endedAt: number;
  /** Characters of the record, unpacked. */
  readonly bytes: number;
  readonly parent: Address | null;
  readonly viewId: string;
}

interface ArchivedEvents extends StoredDocument {
  readonly address: string;
  readonly first: number;
  /** Packed events `first`, `first + 1`, … */
  readonly data: readonly string[];
}

/** Ended actors, in the order in which they may be removed. */
export const ARCHIVED_ACTORS: CollectionSpec = {
  name: 'archived_actors',
  unique: [],
  indexes: [['kind'], ['retained_as', 'ended_at', 'bytes'], ['parent']],
};

/** Events in one archived document: few enough that 64 KiB each stay under a document store's 16 MB. */
const SEGMENT_EVENTS = 200;

/** All but the last are full, so the id of the one that holds an event is known without a search. */
const segmentId = (address: Address, first: number): string => `${address}#${first}`;

/**
 * Where ended actors go (design K8): record and events in Documents, so that the actor store keeps only what lives.
 * Every write is idempotent: archiving again after a crash writes the same documents.
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

  /** The revision at which each actor ended; those that the archive does not know are not among them. */
  async revisions(addresses: readonly Address[]): Promise<Map<string, number>> {
    const revisions = new Map<string, number>();
    for (const [tenant, ids] of Map.groupBy(addresses, (address) => parseAddress(address).tenant)) {
      const found = await this.#actors.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
      for (const { id, version } of found) revisions.set(id, version);
    }
    return revisions;
  }

  /** Copies an actor's events and record out of the store. Events first: a record in the archive means all is there. */
  async store(
    store: Pick<ActorStore, 'readEvents'>,
    partition: Partition,
    actor: {
      readonly address: Address;
      readonly record: string;
      readonly revision: number;
      readonly lastEvent: number;
    } & Retained,
  ): Promise<void> {
    const { tenant, kind } = parseAddress(actor.address);
    let { bytes } = actor;
    for (let after = 0; after < actor.lastEvent; ) {
      const events = await store.readEvents(partition, actor.address, after, SEGMENT_EVENTS);
      const first = events[0]?.seq;
      const last = events[events.length - 1]?.seq;
      // Forgotten by an earlier run that archived it already: those documents stand.
      if (first === undefined || last === undefined) break;
      await this.#events.put({
        tenant,
        id: segmentId(actor.address, first),
        version: events.length,
        address: actor.address,
        first,
        data: events.map((event) => event.data),
      });
      for (const { data } of events) bytes += data.length;
      after = last;
    }
    await this.#actors.put({
      tenant,
      id: actor.address,
      version: actor.revision,
      kind,
      record: actor.record,
      last_event: actor.lastEvent,
      retained_as: actor.retainedAs,
      ended_at: actor.endedAt,
      bytes,
      parent: actor.parent,
      view_id: actor.viewId,
    });
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

  /** Deletes the record of an archived actor for good: without it nothing of the actor can be read. */
  removeRecord(address: Address): Promise<boolean> {
    return this.#actors.delete(tenantOf(address), address);
  }

  /** Behind its record. */
  async removeEvents(address: Address): Promise<void> {
    await this.#events.deleteMany({ tenant: tenantOf(address), where: { address } });
  }
}
