import type { ActorStore } from '../actor-store.ts';
import { type Address, parseAddress, tenantOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Registry } from '../define-actor.ts';
import type { Change, ChangeLog } from '../documents/change-log.ts';
import { positionOf } from '../documents/document-query.ts';
import type { Collection, Documents, Position, StoredDocument } from '../documents.ts';
import { type SvcError, toSvcError } from '../errors.ts';
import type { KeyRuns } from '../ledger/key-runs.ts';
import { DEAD_LETTERS, type DeadLetter } from '../ledger/segments.ts';
import type { Locator } from '../locator.ts';
import { ARCHIVED_ACTORS, type Archive, type ArchivedActor } from '../projection/archive.ts';
import type { Views } from '../projection/views.ts';
import type { Payloads } from '../turns/payload.ts';
import { eraseFromLedger } from './erase-from-ledger.ts';

/**
 * A removal that has begun. It is written before anything is removed, so that every sweep finds the removals that a
 * crash interrupted.
 */
interface Removal extends StoredDocument {
  /** `request`: a caller deleted the actor. `retention`: it was too old, or too much was kept. */
  readonly by: 'request' | 'retention';
  /** Unix ms. */
  readonly asked_at: number;
  /** Start of the time for which the ledger may hold rows of the actor, Unix ms. */
  readonly since: number;
  /** When the actor was found to be out of the store; null before. */
  readonly gone_at: number | null;
  /** Id of its document in the list of its kind. */
  readonly view_id: string;
}

/** An archived actor to remove, and the id of its document in the list of its kind. */
interface OldActor {
  readonly address: Address;
  readonly viewId: string;
}

interface RemovalsParts {
  readonly store: Pick<ActorStore, 'load'>;
  readonly documents: Documents;
  readonly archive: Archive;
  readonly registry: Registry;
  readonly locator: Locator;
  readonly payloads: Payloads;
  /** Finds the deliveries of an actor in the ledger. */
  readonly keys: Pick<KeyRuns, 'find'>;
  readonly clock: Pick<Clock, 'now'>;
  /** The time by which `guardedMs` is counted, Unix ms: that of the store. */
  readonly now: () => Promise<number>;
  readonly views: Views;
  readonly changes: Pick<ChangeLog, 'append'>;
  /**
   * How long a requested removal is protected against late writes: late messages, the ledger's writer. Milliseconds.
   */
  readonly guardedMs: number;
  /** Removes everything else that refers to removed actors of a tenant. It may be called again for the same ones. */
  readonly forget: (tenant: string, addresses: readonly Address[]) => Promise<void>;
}

/** Result of one step of the sweep. */
interface RemovalStep {
  /** How many removals were finished. */
  readonly finished: number;
  /** Position at which the next step begins; undefined: no removal is behind this step's. */
  readonly next?: Position;
  /** Why removals could not be done; undefined: none failed. */
  readonly failure?: SvcError;
}

const STEP = 50;

const PAGE = 1_000;

const OLDEST_FIRST = { tenant: null, sort: [['asked_at', 'asc']] } as const;

const PARTS_AT_ONCE = 100;

/**
 * Removes ended actors completely: record, events, list document, payloads, dead letters, the actors that belong to
 * them, and after a requested removal their rows of the ledger. When the projector has yet to archive an actor, the
 * projector takes it out of the store: it checks `asked` after each archive that it writes.
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
      await documents.collection<Removal>({ name: 'removals', unique: [], indexes: [], searched: ['asked_at', 'by'] }),
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

  /**
   * Requests the removal of an ended actor. Once it resolves the request is durable, and nothing of the actor will
   * stay. `since` is when the actor began, Unix ms.
   */
  async ask(address: Address, since = 0): Promise<void> {
    const asked = { by: 'request', since, view_id: parseAddress(address).id } as const;
    await this.#removals.insert(this.#removal(address, asked));
  }

  /** The actors among these that a caller deleted. At most 1,000 addresses. */
  async asked(addresses: readonly Address[]): Promise<ReadonlySet<Address>> {
    const asked = new Set<Address>();
    for (const [tenant, ids] of Map.groupBy(addresses, tenantOf)) {
      const found = await this.#removals.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
      for (const one of found) asked.add(addressOf(one));
    }
    return asked;
  }

  /** Removes everything that can be removed now; the sweep does the rest. Returns whether all is done. */
  async finish(address: Address): Promise<boolean> {
    const removal = await this.#removals.get(tenantOf(address), address);
    return removal === null || this.#begin(address, removal);
  }

  /**
   * Removes old archived actors of one tenant together. It makes one call of each kind, whatever their number, so that
   * removing keeps up with actors that end. At most 100 actors. Returns how many were removed: the sweep does the rest.
   */
  async removeOld(tenant: string, old: readonly OldActor[]): Promise<number> {
    if (old.length === 0) return 0;
    const removals = old.map(({ address, viewId }) =>
      this.#removal(address, { by: 'retention', since: 0, view_id: viewId }),
    );
    // An actor that a caller deleted keeps its earlier removal.
    await this.#removals.putMany(removals);
    return this.#finishOld(tenant, removals);
  }

  /**
   * Continues removals that have begun, oldest first: a page of them, behind `after`. Removals that cannot be finished yet, or
   * that fail, do not delay later ones. Throws `unavailable`.
   */
  async step(after?: Position): Promise<RemovalStep> {
    const begun = await this.#removals.find({ ...OLDEST_FIRST, limit: PAGE, after });
    const failures: SvcError[] = [];
    let finished = 0;
    for (let at = 0; at < begun.length; at += STEP) {
      const some = begun.slice(at, at + STEP);
      const [guarded, over] = this.#requested(some, await this.#parts.now());
      const old = some.filter(({ by }) => by === 'retention');
      const begin = (one: Removal): Promise<unknown> => this.#begin(addressOf(one), one);
      const begins = guarded.map((one) => unlessFailed(failures, () => begin(one)));
      for (const outcome of await Promise.allSettled(begins)) if (outcome.status === 'rejected') throw outcome.reason;
      for (const [tenant, list] of Map.groupBy(over, (one) => one.tenant))
        finished += await eachAloneIfNeeded(failures, list, (these) => this.#end(tenant, these));
      for (const [tenant, list] of Map.groupBy(old, (one) => one.tenant))
        finished += await eachAloneIfNeeded(failures, list, (these) => this.#finishOld(tenant, these));
    }
    const [failure] = failures;
    const last = begun.length < PAGE ? undefined : begun.at(-1);
    return { finished, next: last && positionOf(OLDEST_FIRST, last), failure };
  }

  #removal(address: Address, parts: Pick<Removal, 'by' | 'since' | 'view_id'>): Removal {
    const asked_at = this.#parts.clock.now();
    return { tenant: tenantOf(address), id: address, version: 1, asked_at, gone_at: null, ...parts };
  }

  /** Finishes removals by retention. Returns how many actors were removed. */
  async #finishOld(tenant: string, removals: readonly Removal[]): Promise<number> {
    const addresses = removals.map(addressOf);
    const where = { id: { in: addresses }, by: 'request' };
    const requested = await this.#removals.find({ tenant, where, limit: addresses.length });
    const left = new Set([...(await storedOf(this.#parts, addresses)), ...requested.map(addressOf)]);
    const going = removals.filter((one) => !left.has(addressOf(one)));
    if (going.length === 0) return 0;
    await this.#removeAll(tenant, going.map(addressOf));
    await this.#unlist(tenant, going);
    await Promise.all(going.map(({ id }) => this.#removals.delete(tenant, id)));
    return going.length;
  }

  /** Removals that callers requested: those still protected against late writes, and those whose protection is over. */
  #requested(removals: readonly Removal[], now: number): readonly [Removal[], Removal[]] {
    const [guarded, over]: [Removal[], Removal[]] = [[], []];
    for (const one of removals) {
      if (one.by !== 'request') continue;
      const isOver = one.gone_at !== null && now - one.gone_at >= this.#parts.guardedMs;
      (isOver ? over : guarded).push(one);
    }
    return [guarded, over];
  }

  /** Removes what a caller deleted, once it is out of the store. Returns whether all is done. */
  async #begin(address: Address, removal: Removal): Promise<boolean> {
    const { tenant } = removal;
    if (removal.gone_at !== null) return false;
    if (removal.by === 'retention') return (await this.#finishOld(tenant, [removal])) > 0;
    if ((await storedOf(this.#parts, [address])).size > 0) return false;
    await this.#removeAll(tenant, [address]);
    const gone_at = await this.#parts.now();
    await this.#removals.replace({ ...removal, version: removal.version + 1, gone_at }, removal.version);
    return false;
  }

  /**
   * Finishes requested removals of one tenant together, in the sweep only: their deliveries stand in the same segments
   * of the ledger, and of two that write a segment at the same time one would bring the other's deliveries back.
   * Returns how many were finished.
   */
  async #end(tenant: string, removals: readonly Removal[]): Promise<number> {
    const stored = await storedOf(this.#parts, removals.map(addressOf));
    const going = removals.filter((one) => !stored.has(addressOf(one)));
    if (going.length === 0) return 0;
    await this.#removeAll(tenant, going.map(addressOf));
    await this.#eraseFromLedger(tenant, going);
    await this.#unlist(tenant, going);
    await Promise.all(going.map(({ id }) => this.#removals.delete(tenant, id)));
    return going.length;
  }

  async #eraseFromLedger(tenant: string, removals: readonly Removal[]): Promise<void> {
    const { locator, guardedMs } = this.#parts;
    const addresses = removals.map(addressOf);
    const partitions = await Promise.all(addresses.map((address) => locator.locate(address)));
    await eraseFromLedger(this.#parts, {
      tenant,
      addresses: new Set(addresses),
      partitions: [...new Set(partitions)],
      since: Math.min(...removals.map(({ since }) => since)),
      until: Math.max(...removals.map(({ gone_at }) => gone_at ?? 0)) + guardedMs,
    });
  }

  /**
   * Removes all data of the actors. Every step may be repeated, and the first makes the actors unknown to every reader.
   */
  async #removeAll(tenant: string, addresses: readonly Address[]): Promise<void> {
    const { archive, payloads } = this.#parts;
    await Promise.all(addresses.map((address) => archive.removeRecord(address)));
    // In parallel: a store that groups its writes makes one of them.
    await Promise.all([
      archive.removeEvents(tenant, addresses),
      ...addresses.map((address) => payloads.discardAll(address)),
      this.#deadLetters.deleteMany({ tenant, where: { address: { in: addresses } } }),
      this.#removeParts(tenant, addresses),
    ]);
  }

  /** Removes approvals, sessions and panels with the actor that they belong to. A run follows its own rules. */
  async #removeParts(tenant: string, addresses: readonly Address[]): Promise<void> {
    const { registry } = this.#parts;
    for (let kept = 0; ; ) {
      const where = { parent: { in: addresses } };
      const children = await this.#actors.find({ tenant, where, limit: PARTS_AT_ONCE, skip: kept });
      const parts = children.filter((child) => registry.definitionOf(addressOf(child))?.isPart === true);
      // One that is in the store stays in this list until the sweep.
      kept += children.length - (await this.removeOld(tenant, parts.map(oldActor)));
      if (children.length < PARTS_AT_ONCE) return;
    }
  }

  async #unlist(tenant: string, removals: readonly Removal[]): Promise<void> {
    const { registry, views, changes, forget } = this.#parts;
    const addresses = removals.map(addressOf);
    const listed = removals.map(async ({ view_id }, index) => {
      const address = addresses[index];
      const view = address === undefined ? undefined : registry.definitionOf(address)?.view;
      const list = view === undefined ? undefined : views.get(view.collection);
      if (view === undefined || list === undefined) return [];
      const known = view.isInFeed === true ? await list.get(tenant, view_id) : null;
      await list.delete(tenant, view_id);
      return known === null ? [] : removalOf(view.collection, known);
    });
    const gone = (await Promise.all(listed)).flat();
    await changes.append(tenant, gone);
    await forget(tenant, addresses);
  }
}

/** Undefined when the work failed: the failure is noted. Throws `unavailable`, after which nothing else would succeed. */
async function unlessFailed<T>(failures: SvcError[], work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (thrown) {
    const failure = toSvcError(thrown);
    if (failure.code === 'unavailable') throw failure;
    failures.push(failure);
    return undefined;
  }
}

/** Finishes removals together, and each alone if that fails. Returns how many were finished. */
async function eachAloneIfNeeded(
  failures: SvcError[],
  removals: readonly Removal[],
  finish: (removals: readonly Removal[]) => Promise<number>,
): Promise<number> {
  const failed: SvcError[] = [];
  const together = await unlessFailed(failed, () => finish(removals));
  if (together !== undefined) return together;
  if (removals.length === 1) {
    failures.push(...failed);
    return 0;
  }
  let finished = 0;
  for (const one of removals) finished += (await unlessFailed(failures, () => finish([one]))) ?? 0;
  return finished;
}

/**
 * The change of a list whose document is removed. None after a removal by request: the document is hidden already, and its
 * change is recorded.
 */
function removalOf(collection: string, document: StoredDocument): Change[] {
  const { removed, owner }: Readonly<Record<string, unknown>> = { ...document };
  if (removed === true) return [];
  return [{ collection, id: document.id, ...(typeof owner === 'string' ? { owner } : {}) }];
}

/**
 * The actors among these that are in the store. The projector takes an ended one out and needs its payloads until then.
 */
export async function storedOf(
  { store, locator }: Pick<RemovalsParts, 'store' | 'locator'>,
  addresses: readonly Address[],
): Promise<ReadonlySet<Address>> {
  const partitions = await Promise.all(addresses.map((address) => locator.locate(address)));
  const byPartition = Map.groupBy(addresses.keys(), (index) => partitions[index]);
  const stored = new Set<Address>();
  await Promise.all(
    [...byPartition].map(async ([partition, indexes]) => {
      if (partition === undefined) return;
      const asked = indexes.flatMap((index) => addresses[index] ?? []);
      const records = await store.load(partition, asked);
      for (const [index, address] of asked.entries()) if ((records[index] ?? null) !== null) stored.add(address);
    }),
  );
  return stored;
}

/** The argument of `removeOld` for an archived actor. */
export const oldActor = (actor: ArchivedActor): OldActor => ({
  address: addressOf(actor),
  viewId: actor.view_id ?? parseAddress(actor.id).id,
});

/** Address of an archived actor, or of the actor of a removal. */
export const addressOf = ({ id }: StoredDocument): Address => {
  const { kind, tenant, id: own } = parseAddress(id);
  return `${kind}/${tenant}/${own}`;
};
