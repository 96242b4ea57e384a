import type { ActorStore } from '../actor-store.ts';
import type { Address } from '../address.ts';
import { type ActorDefinition, isArchived } from '../define-actor.ts';
import type { PartitionServer } from '../dispatch/partition-server.ts';
import type { ReplacedStates } from '../dispatch/replaced-states.ts';
import type { Collection, Documents, StoredDocument } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import type { Locator } from '../locator.ts';
import type { Registry } from '../registry.ts';
import { isOwned, type Payloads } from '../turns/payload.ts';
import { decodeRecord } from '../turns/record.ts';
import type { Archive } from './archive.ts';

export interface ActorProjectionParts {
  readonly store: ActorStore;
  readonly documents: Documents;
  readonly archive: Archive;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  /** Takes the states of actors that end without an archive. */
  readonly replaced: Pick<ReplacedStates, 'add'>;
  readonly warn: (message: string, error: unknown) => void;
}

const ARCHIVE_AT_ONCE = 16;

interface Look {
  readonly document: StoredDocument | null;
  readonly ended: boolean;
  readonly revision: number;
  readonly lastEvent: number;
}

interface Ended {
  readonly address: Address;
  readonly record: string;
  /** Whether the archive keeps it. */
  readonly kept: boolean;
  /** Whether nothing else names what its record may name (turns/payload.ts). */
  readonly owned: boolean;
  readonly revision: number;
  readonly lastEvent: number;
}

/** Writes actors' committed states into list views, and ended actors into the archive (design R2, K8). */
export class ActorProjection {
  readonly #parts: ActorProjectionParts;
  readonly #views: ReadonlyMap<string, Collection<StoredDocument>>;

  static async open(parts: ActorProjectionParts): Promise<ActorProjection> {
    const views = new Map<string, Collection<StoredDocument>>();
    for (const { view } of parts.registry.definitions) {
      if (view === undefined) continue;
      const spec = { name: view.collection, unique: [], indexes: view.indexes ?? [] };
      views.set(view.collection, await parts.documents.collection<StoredDocument>(spec));
    }
    return new ActorProjection(parts, views);
  }

  constructor(parts: ActorProjectionParts, views: ReadonlyMap<string, Collection<StoredDocument>>) {
    this.#parts = parts;
    this.#views = views;
  }

  /** Writes what became of the actors; the ended ones leave the store. */
  async project(server: PartitionServer, addresses: ReadonlySet<Address>): Promise<void> {
    const { store, registry, locator, payloads } = this.#parts;
    const { partition } = server.lease;
    const wanted = [...addresses].filter((address) => {
      const definition = registry.definitionOf(address);
      return definition?.view !== undefined || definition?.done !== undefined;
    });
    if (wanted.length === 0) return;
    const texts = await store.load(partition, wanted);
    const documents = new Map<string, StoredDocument[]>();
    const ended: Ended[] = [];
    for (const [index, address] of wanted.entries()) {
      const definition = registry.definitionOf(address);
      const text = texts[index];
      if (definition === undefined || text === null || text === undefined) continue;
      const plain = await payloads.unpack(text);
      const seen = this.#look(definition, address, plain);
      if (seen === null) continue;
      if (seen.document !== null && definition.view !== undefined) {
        const list = documents.get(definition.view.collection) ?? [];
        list.push(seen.document);
        documents.set(definition.view.collection, list);
      }
      if (!seen.ended) continue;
      ended.push({ address, record: text, kept: isArchived(definition), owned: isOwned(text, plain), ...seen });
    }
    for (const [collection, list] of documents) await this.#views.get(collection)?.putMany(list);
    for (let start = 0; start < ended.length; start += ARCHIVE_AT_ONCE) {
      await Promise.all(
        ended.slice(start, start + ARCHIVE_AT_ONCE).map(async (actor) => {
          if (actor.kept) await this.#parts.archive.store(store, partition, actor);
          // An entry that outlives this process is found by the directory's sweep.
          if (!(await server.forget(actor.address, actor.record))) return;
          const { address, record: text } = actor;
          // The archive goes on naming the last state of those that it keeps.
          if (!actor.kept && actor.owned) this.#parts.replaced.add({ partition, address, text });
          await locator.unplace(address, partition);
        }),
      );
    }
  }

  /** An actor whose record or view is broken is left out; it must not keep all others from their lists. */
  #look(definition: ActorDefinition, address: Address, text: string): Look | null {
    try {
      const { state, revision, lastEvent, stuck } = decodeRecord(definition, text);
      const [, tenant = '', id = ''] = address.split('/');
      const view = definition.view?.project(state, { tenant, id }) ?? null;
      const document = view === null ? null : { ...view, version: revision };
      return { document, ended: definition.done?.(state) === true && stuck === null, revision, lastEvent };
    } catch (thrown) {
      this.#parts.warn(`${address} cannot be projected`, toSvcError(thrown));
      return null;
    }
  }
}
