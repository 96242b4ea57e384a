import type { ActorStore, EventAppend } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import { isArchived, type Registry } from '../define-actor.ts';
import type { ActorCache } from '../turns/actor-cache.ts';
import type { EndedActor } from './archive.ts';
import type { ProjectedCommit } from './views.ts';

interface Parts {
  readonly registry: Pick<Registry, 'definitionOf'>;
  readonly cache: Pick<ActorCache, 'termOf'>;
}

/** Bytes of all events. They are outside of the heap, since the garbage collector would copy them twice. */
const RING_BYTES = 8 * 1024 * 1024;

/** Most characters of the events of one commit. Most bytes of a character are three. */
const MOST_CHARS = 65_536;

/** Most parts of one actor's events. Events of longer actors are read from the store. */
const MOST_PARTS = 16;

/** Most actors. */
const MOST_ACTORS = 16_384;

/** Stands between events: their text is JSON, which has no line break. */
const BETWEEN = '\n';

/** Events of one actor, from its first one on. */
interface Begun {
  readonly partition: Partition;
  /** The term of the partition in which the actor began (turns/actor-cache.ts). */
  readonly term: number;
  count: number;
  /** Position and bytes of each part. */
  readonly parts: number[];
}

const isOf = (begun: Begun, partition: Partition, term: number): boolean =>
  begun.partition === partition && begun.term === term;

/**
 * Events of actors that began on this node a short while ago. An actor that ends soon is archived from here, so its events are
 * not read from the store again. The newest events take the place of the oldest ones. Events of an earlier term of a
 * partition are not used, because the store may have other ones since.
 */
export class RecentEvents {
  readonly #parts: Parts;
  readonly #actors = new Map<Address, Begun>();
  #ring: Buffer | null = null;
  /** Bytes that were written, gaps included. */
  #at = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Keeps the events of a commit of actors that are archived when they end. */
  keep({ changes = [] }: Pick<ProjectedCommit, 'changes'>): void {
    for (const { partition, events } of changes) {
      for (const append of events) {
        const definition = this.#parts.registry.definitionOf(append.address);
        if (definition !== undefined && isArchived(definition)) this.#add(partition, append);
      }
    }
  }

  /** Reads events of ended actors, from here where all of them are here, else from the store. */
  over(
    store: Pick<ActorStore, 'readEvents'>,
    ended: readonly Pick<EndedActor, 'address' | 'lastEvent'>[],
  ): Pick<ActorStore, 'readEvents'> {
    const lastOf = new Map(ended.map(({ address, lastEvent }) => [address, lastEvent]));
    return {
      readEvents: async (partition, address, after, limit) => {
        const all = this.#take(partition, address, lastOf.get(address) ?? 0);
        if (all === null) return store.readEvents(partition, address, after, limit);
        return all.slice(after, after + limit).map((data, index) => ({ seq: after + index + 1, data }));
      },
    };
  }

  /** Only events right behind known ones are kept. */
  #add(partition: Partition, { address, first, data }: EventAppend): void {
    const term = this.#parts.cache.termOf(partition);
    const known = first === 1 ? undefined : this.#actors.get(address);
    if ((known === undefined && first !== 1) || data.length === 0) return;
    const text = data.join(BETWEEN);
    const isNext = known === undefined || (first === known.count + 1 && isOf(known, partition, term));
    if (!isNext || text.length > MOST_CHARS || (known?.parts.length ?? 0) >= 2 * MOST_PARTS) {
      this.#actors.delete(address);
      return;
    }
    if (known !== undefined) {
      known.parts.push(...this.#write(text));
      known.count += data.length;
      return;
    }
    this.#actors.set(address, { partition, term, count: data.length, parts: this.#write(text) });
    if (this.#actors.size <= MOST_ACTORS) return;
    for (const oldest of this.#actors.keys()) {
      this.#actors.delete(oldest);
      return;
    }
  }

  /** Returns position and bytes of the text. */
  #write(text: string): [number, number] {
    this.#ring ??= Buffer.allocUnsafeSlow(RING_BYTES);
    const left = RING_BYTES - (this.#at % RING_BYTES);
    if (left < 3 * text.length) this.#at += left;
    const position = this.#at;
    const bytes = this.#ring.write(text, position % RING_BYTES, 'utf8');
    this.#at += bytes;
    return [position, bytes];
  }

  /** Takes the events of an actor whose last one is `last`. Null: they must be read. */
  #take(partition: Partition, address: Address, last: number): readonly string[] | null {
    const found = this.#actors.get(address);
    if (found === undefined) return null;
    // The archive has them soon. A write that is tried again reads the store.
    this.#actors.delete(address);
    const isWhole = found.count === last && (found.parts[0] ?? -1) >= this.#at - RING_BYTES;
    if (!isWhole || !isOf(found, partition, this.#parts.cache.termOf(partition))) return null;
    const all: string[] = [];
    for (let part = 0; part < found.parts.length; part += 2) {
      const from = (found.parts[part] ?? 0) % RING_BYTES;
      const text = this.#ring?.toString('utf8', from, from + (found.parts[part + 1] ?? 0)) ?? '';
      all.push(...text.split(BETWEEN));
    }
    return all;
  }
}
