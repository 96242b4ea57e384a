import type { ActorStore } from '../actor-store.ts';
import { type Address, parseAddress, tenantOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Collection, Documents, StoredDocument } from '../documents.ts';
import type { Locator } from '../locator.ts';
import { ARCHIVED_ACTORS, type Archive, type ArchivedActor } from '../projection/archive.ts';
import { DEAD_LETTERS, type DeadLetter } from '../projection/ledger.ts';
import { eraseFromLedger } from '../projection/ledger-eraser.ts';
import type { Views } from '../projection/views.ts';
import type { Registry } from '../registry.ts';
import type { Payloads } from '../turns/payload.ts';

/** A removal that has begun. It is written before anything is removed, so that every sweep finds what a crash left. */
export interface Removal extends StoredDocument {
  /** `request`: somebody deleted the actor; `retention`: it was old, or too much was kept. */
  readonly by: 'request' | 'retention';
  /** Unix ms. */
  readonly asked_at: number;
  /** From here on the ledger may have rows of it, Unix ms. */
  readonly since: number;
  /** When it was seen to be out of the store; null before. */
  readonly gone_at: number | null;
  /** Id of its document in the list of its kind. */
  readonly view_id: string;
}

export interface RemovalsParts {
  readonly store: Pick<ActorStore, 'load'>;
  readonly documents: Documents;
  readonly archive: Archive;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  readonly clock: Pick<Clock, 'now'>;
  readonly views: Views;
  /** How long a requested removal is guarded against what is still under way: late messages, the ledger's writer. */
  readonly guardedMs: number;
  /** Removes what else names a removed actor. May be called again for the same one. */
  readonly forget: (address: Address) => Promise<void>;
}

const STEP = 50;
const PARTS_AT_ONCE = 100;

/**
 * Removes ended actors whole: record, events, list document, payloads, dead letters, what belongs to them, and after a
 * requested removal their rows of the ledger. An actor that the projector has yet to archive is taken out of the store by
 * the projector, which looks here (`asked`) behind each archive that it writes.
 */
export class Removals {
  readonly #parts: RemovalsParts;
  readonly #removals: Collection<Removal>;
  readonly #actors: Collection<ArchivedActor>;
  readonly #deadLetters: Collection<DeadLetter>;

  static async open(parts: RemovalsParts): Promise<Removals> {
    const { documents } = parts;
    return new Removals(
      parts,
      await documents.collection<Removal>({ name: 'removals', unique: [], indexes: [] }),
      await documents.collection<ArchivedActor>(ARCHIVED_ACTORS),
      await documents.collection<DeadLetter>(DEAD_LETTERS),
    );
  }

  constructor(
    parts: RemovalsParts,
    removals: Collection<Removal>,
    actors: Collection<ArchivedActor>,
    deadLetters: Collection<DeadLetter>,
  ) {
    this.#parts = parts;
    this.#removals = removals;
    this.#actors = actors;
    this.#deadLetters = deadLetters;
  }

  /** Durable when it resolves: whatever happens, nothing of the ended actor stays. `since`: when it began, Unix ms. */
  async ask(address: Address, since = 0): Promise<void> {
    const asked = { by: 'request', since, view_id: parseAddress(address).id } as const;
    await this.#removals.insert(this.#removal(address, asked));
  }

  /** Those that somebody deleted. At most 1,000 are asked for. */
  async asked(addresses: readonly Address[]): Promise<ReadonlySet<Address>> {
    const asked = new Set<Address>();
    for (const [tenant, ids] of Map.groupBy(addresses, tenantOf)) {
      const found = await this.#removals.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
      for (const one of found) asked.add(addressOf(one));
    }
    return asked;
  }

  /** Removes now what can be removed now; the sweep does the rest. Answers whether all is done. */
  async finish(address: Address): Promise<boolean> {
    const removal = await this.#removals.get(tenantOf(address), address);
    return removal === null || this.#finish(address, removal);
  }

  /** Removes an archived actor that is old. `view_id`: its document in the list of its kind. */
  async removeOld(address: Address, view_id: string): Promise<void> {
    const removal = this.#removal(address, { by: 'retention', since: 0, view_id });
    await this.#removals.insert(removal);
    await this.#finish(address, removal);
  }

  /** Goes on with removals that have begun, oldest first; answers how many were finished. */
  async step(): Promise<number> {
    let finished = 0;
    const begun = await this.#removals.find({ tenant: null, sort: [['asked_at', 'asc']], limit: 1_000 });
    for (let at = 0; at < begun.length; at += STEP) {
      const some = begun.slice(at, at + STEP);
      const done = await Promise.all(some.map((one) => this.#finish(addressOf(one), one)));
      finished += done.filter(Boolean).length;
    }
    return finished;
  }

  #removal(address: Address, parts: Pick<Removal, 'by' | 'since' | 'view_id'>): Removal {
    const asked_at = this.#parts.clock.now();
    return { tenant: tenantOf(address), id: address, version: 1, asked_at, gone_at: null, ...parts };
  }

  async #finish(address: Address, removal: Removal): Promise<boolean> {
    const { store, locator, clock, guardedMs } = this.#parts;
    if (removal.gone_at !== null && clock.now() - removal.gone_at < guardedMs) return false;
    const partition = await locator.locate(address);
    const [record = null] = await store.load(partition, [address]);
    // Its projector takes it out; without the record its payloads could not be read any more, and so not its end.
    if (record !== null) return false;
    await this.#removeAll(address);
    if (removal.by === 'retention') {
      await this.#unlist(address, removal.view_id);
      return this.#removals.delete(removal.tenant, removal.id);
    }
    const now = clock.now();
    if (removal.gone_at === null) {
      await this.#removals.replace({ ...removal, version: removal.version + 1, gone_at: now }, removal.version);
      return false;
    }
    const until = removal.gone_at + guardedMs;
    await eraseFromLedger(this.#parts, { address, partition, since: removal.since, until });
    await this.#unlist(address, removal.view_id);
    return this.#removals.delete(removal.tenant, removal.id);
  }

  /** Every step may be repeated, and the first makes the actor unknown to every reader. */
  async #removeAll(address: Address): Promise<void> {
    const { archive, payloads } = this.#parts;
    const tenant = tenantOf(address);
    await archive.removeRecord(address);
    // Side by side: a store that groups its writes makes one of them.
    await Promise.all([
      archive.removeEvents(address),
      payloads.discardAll(address),
      this.#deadLetters.deleteMany({ tenant, where: { address } }),
      this.#removeParts(address),
    ]);
  }

  /** Approvals, sessions and panels go with what they belong to; a run of its own goes by its own rules. */
  async #removeParts(address: Address): Promise<void> {
    const tenant = tenantOf(address);
    for (let kept = 0; ; ) {
      const where = { parent: address };
      const parts = await this.#actors.find({ tenant, where, limit: PARTS_AT_ONCE, skip: kept });
      for (const part of parts) {
        const child = addressOf(part);
        if (this.#parts.registry.definitionOf(child)?.isPart !== true) kept += 1;
        else await this.removeOld(child, part.view_id ?? parseAddress(child).id);
      }
      if (parts.length < PARTS_AT_ONCE) return;
    }
  }

  async #unlist(address: Address, viewId: string): Promise<void> {
    const collection = this.#parts.registry.definitionOf(address)?.view?.collection;
    if (collection !== undefined) await this.#parts.views.get(collection)?.delete(tenantOf(address), viewId);
    await this.#parts.forget(address);
  }
}

const addressOf = ({ id }: StoredDocument): Address => {
  const { kind, tenant, id: own } = parseAddress(id);
  return `${kind}/${tenant}/${own}`;
};
