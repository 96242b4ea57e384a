import type { ActorStore } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { parseAddress } from '../address.ts';
import type { Collection, Documents, StoredDocument } from '../documents.ts';

interface ArchivedActor extends StoredDocument {
  readonly kind: string;
  /** Packed record, as the store kept it. */
  readonly record: string;
  readonly last_event: number;
}

interface ArchivedEvents extends StoredDocument {
  readonly address: string;
  readonly first: number;
  /** Packed events `first`, `first + 1`, … */
  readonly data: readonly string[];
}

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
      await documents.collection<ArchivedActor>({ name: 'archived_actors', unique: [], indexes: [['kind']] }),
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
    },
  ): Promise<void> {
    const { tenant, kind } = parseAddress(actor.address);
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
      after = last;
    }
    await this.#actors.put({
      tenant,
      id: actor.address,
      version: actor.revision,
      kind,
      record: actor.record,
      last_event: actor.lastEvent,
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

  /** Deletes an archived actor for good. */
  async remove(address: Address): Promise<boolean> {
    const { tenant } = parseAddress(address);
    await this.#events.deleteMany({ tenant, where: { address } });
    return this.#actors.delete(tenant, address);
  }
}
