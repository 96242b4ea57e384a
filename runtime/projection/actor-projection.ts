import type { ActorStore } from '../actor-store.ts';
import type { Address } from '../address.ts';
import type { Clock } from '../clock.ts';
import { type ActorDefinition, isArchived } from '../define-actor.ts';
import type { PartitionServer } from '../dispatch/partition-server.ts';
import type { ReplacedStates } from '../dispatch/replaced-states.ts';
import type { Collection, Documents, StoredDocument } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import type { Locator } from '../locator.ts';
import type { Registry } from '../registry.ts';
import type { Removals } from '../retention/removals.ts';
import { isOwned, type Payloads } from '../turns/payload.ts';
import { decodeRecord } from '../turns/record.ts';
import type { Archive, Retained } from './archive.ts';
import { DEAD_LETTERS, type DeadLetter, unreadableRecord } from './ledger.ts';
import type { Views } from './views.ts';

export interface ActorProjectionParts {
  readonly store: ActorStore;
  readonly documents: Documents;
  readonly archive: Archive;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  readonly clock: Pick<Clock, 'now'>;
  readonly views: Views;
  /** Asked behind each archive that is written: of an actor that somebody deleted nothing stays. */
  readonly removals: Pick<Removals, 'isAsked' | 'finish'>;
  /** Takes the states of actors that end without an archive. */
  readonly replaced: Pick<ReplacedStates, 'add'>;
  readonly warn: (message: string, error: unknown) => void;
}

const ARCHIVE_AT_ONCE = 16;

interface Look extends Retained {
  readonly document: StoredDocument | null;
  readonly ended: boolean;
  readonly revision: number;
  readonly lastEvent: number;
}

interface Ended extends Retained {
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
  readonly #deadLetters: Collection<DeadLetter>;

  static async open(parts: ActorProjectionParts): Promise<ActorProjection> {
    return new ActorProjection(parts, await parts.documents.collection<DeadLetter>(DEAD_LETTERS));
  }

  constructor(parts: ActorProjectionParts, deadLetters: Collection<DeadLetter>) {
    this.#parts = parts;
    this.#deadLetters = deadLetters;
  }

  /** Writes what became of the actors; the ended ones leave the store. */
  async project(server: PartitionServer, addresses: ReadonlySet<Address>): Promise<void> {
    const { store, registry } = this.#parts;
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
      const plain = await this.#unpacked(address, text);
      if (plain === null) continue;
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
    for (const [collection, list] of documents) await this.#writeViews(collection, list);
    for (let start = 0; start < ended.length; start += ARCHIVE_AT_ONCE) {
      const some = ended.slice(start, start + ARCHIVE_AT_ONCE);
      await Promise.all(
        some.map((actor) => this.#alone(`${actor.address} cannot be archived`, () => this.#takeOut(server, actor))),
      );
    }
  }

  async #takeOut(server: PartitionServer, actor: Ended): Promise<void> {
    const { store, archive, locator, replaced, removals } = this.#parts;
    const { partition } = server.lease;
    const { address, record: text } = actor;
    if (actor.kept) await archive.store(store, partition, actor);
    // In this order: who deletes it does so before looking into the archive, so one of the two sees the other.
    const isRemoved = actor.kept && (await removals.isAsked(address));
    // An entry that outlives this process is found by the directory's sweep.
    if (!(await server.forget(address, text))) return;
    // The archive goes on naming the last state of those that it keeps.
    if (!actor.kept && actor.owned) replaced.add({ partition, address, text });
    await locator.unplace(address, partition);
    if (isRemoved) await removals.finish(address);
  }

  /** Null for a payload that is not stored any more: its actor is dead-lettered, once, and left out. */
  async #unpacked(address: Address, text: string): Promise<string | null> {
    try {
      return await this.#parts.payloads.unpack(text);
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'unavailable') throw error;
      this.#parts.warn(`${address} cannot be projected: its state cannot be read`, error);
      await this.#deadLetters.put(unreadableRecord(address, text, error.message, this.#parts.clock.now()));
      return null;
    }
  }

  /** One document that the store refuses for itself must not keep the others of its batch from their list. */
  async #writeViews(collection: string, list: readonly StoredDocument[]): Promise<void> {
    const view = this.#parts.views.get(collection);
    if (view === undefined) return;
    try {
      await view.putMany(list);
    } catch (thrown) {
      if (toSvcError(thrown).code === 'unavailable') throw thrown;
      for (const one of list) {
        await this.#alone(`${collection} ${one.tenant}/${one.id} cannot be listed`, async () => {
          await view.put(one);
        });
      }
    }
  }

  /** A store that is away stops the projection; what is wrong with one actor alone is said, and the others go on. */
  async #alone(failure: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'unavailable') throw error;
      this.#parts.warn(failure, error);
    }
  }

  /** An actor whose record or view is broken is left out; it must not keep all others from their lists. */
  #look(definition: ActorDefinition, address: Address, text: string): Look | null {
    try {
      const { state, revision, lastEvent, stuck } = decodeRecord(definition, text);
      const [, tenant = '', id = ''] = address.split('/');
      const view = definition.view?.project(state, { tenant, id }) ?? null;
      const document = view === null ? null : { ...view, version: revision };
      const ended = definition.done?.(state) === true && stuck === null;
      const retained = retainedOf(definition, state, { tenant, id }, this.#parts.clock.now());
      return { document, ended, revision, lastEvent, ...retained, bytes: text.length };
    } catch (thrown) {
      this.#parts.warn(`${address} cannot be projected`, toSvcError(thrown));
      return null;
    }
  }
}

/** What retention needs to know of an ended actor. */
export function retainedOf(
  definition: ActorDefinition,
  state: unknown,
  self: { readonly tenant: string; readonly id: string },
  endedAt: number,
): Omit<Retained, 'bytes'> {
  return {
    retainedAs: definition.retainedAs ?? 'runs',
    endedAt,
    parent: definition.belongsTo?.(state, self) ?? null,
    viewId: definition.view?.project(state, self)?.id ?? self.id,
  };
}
