import type { ActorStore } from '../actor-store.ts';
import { type Address, type Partition, parseAddress, poolOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import { type ActorDefinition, isArchived, type Registry } from '../define-actor.ts';
import type { LogServer } from '../dispatch/log-server.ts';
import type { StateBlobGc } from '../dispatch/state-blob-gc.ts';
import type { Change, ChangeLog } from '../documents/change-log.ts';
import type { Collection, Documents, StoredDocument } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import { allDone } from '../kit/queues.ts';
import { DEAD_LETTERS, type DeadLetter, unreadableRecord } from '../ledger/segments.ts';
import type { Locator } from '../locator.ts';
import type { Meter } from '../meter.ts';
import type { Removals } from '../retention/removals.ts';
import type { ActorCache } from '../turns/actor-cache.ts';
import type { Activation } from '../turns/actor-draft.ts';
import { isOwned, isSpilled, type Payloads } from '../turns/payload.ts';
import { decodeRecord } from '../turns/record.ts';
import type { Archive, EndedActor, Retained } from './archive.ts';
import { RecentEvents } from './recent-events.ts';
import type { ProjectedCommit, Views } from './views.ts';

export interface ActorProjectionParts {
  readonly store: ActorStore;
  readonly documents: Documents;
  readonly archive: Archive;
  readonly registry: Registry;
  readonly locator: Locator;
  /** The server that runs the turns of a partition's actors here. */
  readonly serverOf: (partition: Partition) => LogServer | undefined;
  readonly payloads: Payloads;
  /** Actors in memory, whose committed states need not be read from the store. */
  readonly cache: Pick<ActorCache, 'peek' | 'termOf'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Id of this node. */
  readonly node: string;
  readonly views: Views;
  readonly changes: Pick<ChangeLog, 'append'>;
  /** Absent: nothing is counted. */
  readonly meter?: Meter | undefined;
  /** Checked after each archive that is written: nothing of a deleted actor may stay. */
  readonly removals: Pick<Removals, 'asked' | 'finish'>;
  /** Deletes the states of actors that end without an archive. */
  readonly replaced: Pick<StateBlobGc, 'add'>;
  readonly warn: (message: string, error: unknown) => void;
}

/** The committed state of an actor. */
type CommittedActor = Pick<Activation, 'record' | 'owned' | 'size'> & { readonly text: string };

interface Look extends Retained {
  readonly document: StoredDocument | null;
  readonly ended: boolean;
  readonly revision: number;
  readonly lastEvent: number;
}

interface Ended extends EndedActor {
  readonly server: LogServer;
  readonly document: StoredDocument | null;
  /** Whether the archive keeps the actor. */
  readonly kept: boolean;
  /** Whether only this record refers to the bytes that it names (turns/payload.ts). */
  readonly owned: boolean;
}

/** Actors of one partition whose states are to be projected. */
export interface Touched {
  readonly server: LogServer;
  readonly partition: Partition;
  readonly addresses: readonly Address[];
}

/** List documents by collection. */
type ListWrites = Map<string, StoredDocument[]>;

/** The writes of one stretch. */
interface Writes {
  readonly views: ListWrites;
  /**
   * Documents of ended actors. They are written after the archive: a store that loses its last writes in between leaves
   * no actor that is listed as ended and can be read nowhere.
   */
  readonly endedViews: ListWrites;
  readonly ended: Ended[];
}

/** Writes actors' committed states into list views, and ended actors into the archive (R2, K8). */
export class ActorProjection {
  readonly #parts: ActorProjectionParts;
  readonly #deadLetters: Collection<DeadLetter>;
  /** Collections whose changes are in the feed. */
  readonly #inFeed: ReadonlySet<string>;
  /** Events of commits of this node. */
  readonly recent: RecentEvents;

  static async open(parts: ActorProjectionParts): Promise<ActorProjection> {
    return new ActorProjection(parts, await parts.documents.collection<DeadLetter>(DEAD_LETTERS));
  }

  constructor(parts: ActorProjectionParts, deadLetters: Collection<DeadLetter>) {
    this.#parts = parts;
    this.#deadLetters = deadLetters;
    this.recent = new RecentEvents(parts);
    const views = parts.registry.definitions.flatMap(({ view }) => (view?.isInFeed === true ? [view] : []));
    this.#inFeed = new Set(views.map(({ collection }) => collection));
  }

  /** Actors that commits changed and that have a list or an end, with their partitions. */
  touchedBy(commits: readonly ProjectedCommit[]): ReadonlyMap<Address, Partition> {
    const touched = new Map<Address, Partition>();
    for (const { targets, partitions } of commits) {
      for (const [index, target] of targets.entries()) {
        const partition = partitions[index];
        const definition = this.#parts.registry.definitionOf(target);
        const isProjected = definition?.view !== undefined || definition?.done !== undefined;
        if (isProjected && partition !== undefined) touched.set(target, partition);
      }
    }
    return touched;
  }

  /**
   * Writes the states of the actors, of all partitions together. Ended actors leave the store. Returns the servers
   * whose partitions could not be read and must be projected again.
   */
  async project(stretch: readonly Touched[]): Promise<ReadonlySet<LogServer>> {
    const writes: Writes = { views: new Map(), endedViews: new Map(), ended: [] };
    const failed = new Set<LogServer>();
    await allDone(
      stretch.map(async (touched) => {
        const { server } = touched;
        const failure = `the projection of ${server.lease.log} failed and is tried again`;
        if (!(await this.#alone(failure, () => this.#look(touched, writes)))) failed.add(server);
      }),
    );
    // In one tick, so that a store that groups its writes makes one of them.
    let archived: readonly Ended[] = [];
    const archive = async (): Promise<void> => {
      archived = await this.#archived(writes.ended);
    };
    await allDone([archive(), this.#writeLists(writes.views)]);
    await this.#writeLists(writes.endedViews);
    if (archived.length > 0) await this.#takeOut(archived);
    for (const { address, document } of archived) countEnd(this.#parts.meter, address, document);
    return failed;
  }

  async #look({ server, partition, addresses }: Touched, { views, endedViews, ended }: Writes): Promise<void> {
    const { store, registry } = this.#parts;
    const cached = new Map(addresses.flatMap((address) => this.#cached(address, partition)));
    const unknown = addresses.filter((address) => !cached.has(address));
    const texts = unknown.length === 0 ? [] : await store.load(partition, unknown);
    const stored = new Map(unknown.map((address, index) => [address, texts[index]]));
    for (const address of addresses) {
      const definition = registry.definitionOf(address);
      if (definition === undefined) continue;
      const committed = cached.get(address) ?? (await this.#read(definition, address, stored.get(address)));
      if (committed === null) continue;
      const seen = this.#lookAt(definition, address, partition, committed);
      if (seen === null) continue;
      if (seen.document !== null && definition.view !== undefined) {
        const lists = seen.ended ? endedViews : views;
        const list = lists.get(definition.view.collection) ?? [];
        list.push(seen.document);
        lists.set(definition.view.collection, list);
      }
      if (!seen.ended) continue;
      const { text, owned } = committed;
      ended.push({ ...seen, server, partition, address, record: text, kept: isArchived(definition), owned });
    }
  }

  /**
   * The committed state of an actor in memory, as an entry of a map; none of one that must be read. A state in Blobs is
   * read, so that one whose bytes are gone is found.
   */
  #cached(address: Address, partition: Partition): [Address, CommittedActor][] {
    const found = this.#parts.cache.peek(address);
    if (found === undefined || found.partition !== partition || found.text === null || isSpilled(found.text)) return [];
    const { record, text, owned, size } = found;
    return [[address, { record, text, owned, size }]];
  }

  /** Decodes what the store holds. Null when it holds nothing, or when it cannot be read. */
  async #read(
    definition: ActorDefinition,
    address: Address,
    text: string | null | undefined,
  ): Promise<CommittedActor | null> {
    if (text === null || text === undefined) return null;
    const plain = await this.#unpacked(address, text);
    if (plain === null) return null;
    try {
      const record = decodeRecord(definition, plain);
      return { record, text, owned: isOwned(text, plain), size: plain.length };
    } catch (thrown) {
      this.#parts.warn(`the record of ${address} cannot be decoded; it is not listed`, toSvcError(thrown));
      return null;
    }
  }

  /**
   * Archives ended actors and returns those that may leave the store. One that the archive refuses must not stop the
   * others.
   */
  async #archived(ended: readonly Ended[]): Promise<readonly Ended[]> {
    const { archive } = this.#parts;
    const kept = ended.filter((actor) => actor.kept);
    const store = this.recent.over(this.#parts.store, kept);
    try {
      await archive.store(store, kept);
      return ended;
    } catch (thrown) {
      if (toSvcError(thrown).code === 'unavailable') throw thrown;
      const left: Ended[] = ended.filter((actor) => !actor.kept);
      for (const actor of kept) {
        const failure = `${actor.address} cannot be archived`;
        if (await this.#alone(failure, () => archive.store(store, [actor]))) left.push(actor);
      }
      return left;
    }
  }

  async #takeOut(archived: readonly Ended[]): Promise<void> {
    const { locator, replaced, removals } = this.#parts;
    // Removals are read after archiving. A deleting caller writes its removal before it reads the archive, so one of
    // the two sees the other.
    const asked = await removals.asked(archived.filter(({ kept }) => kept).map(({ address }) => address));
    const groups = [...Map.groupBy(archived, ({ partition }) => partition)];
    await allDone(
      groups.map(([home, some]) =>
        this.#alone(`ended actors of ${home} stay in the store`, async () => {
          // The directory's sweep finds entries that outlive this process.
          const gone = new Set(await this.#forget(home, new Map(some.map(({ address, record }) => [address, record]))));
          await Promise.all(
            some.map(async ({ address, partition, record: text, kept, owned }) => {
              if (!gone.has(address)) return;
              // The archive still refers to the last state of an actor that it keeps.
              if (!kept && owned) replaced.add({ partition, address, text });
              await locator.unplace(address, partition);
              if (asked.has(address)) await removals.finish(address);
            }),
          );
        }),
      ),
    );
  }

  /**
   * Removes actors from the store and returns those that were removed. The current server of the partition does it,
   * because the log that reported them may be closed.
   */
  async #forget(partition: Partition, archived: ReadonlyMap<Address, string>): Promise<readonly Address[]> {
    const server = this.#parts.serverOf(partition);
    if (server !== undefined) return server.forget(archived, partition);
    return (await this.#parts.store.sharedLogs?.forgetEnded(partition, archived)) ?? [];
  }

  /**
   * Returns the full record. Null when its payload is no longer stored: the actor is dead-lettered once and skipped.
   */
  async #unpacked(address: Address, text: string): Promise<string | null> {
    try {
      return await this.#parts.payloads.unpack(text);
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'unavailable') throw error;
      this.#parts.warn(`the state of ${address} cannot be read; its record is a dead letter`, error);
      await this.#deadLetters.put(unreadableRecord(address, text, error.message, this.#parts.clock.now()));
      return null;
    }
  }

  async #writeLists(lists: ListWrites): Promise<void> {
    await allDone([...lists].map(([collection, list]) => this.#writeViews(collection, list)));
    await this.#announce(lists);
  }

  /** Appends the changes of lists that are in the feed, once their documents are written. */
  async #announce(lists: ListWrites): Promise<void> {
    const changes = [...lists].flatMap(([collection, list]) =>
      this.#inFeed.has(collection) ? list.map((document) => changeOf(collection, document)) : [],
    );
    const groups = [...Map.groupBy(changes, ({ tenant }) => tenant)];
    await allDone(
      groups.map(([tenant, some]) =>
        this.#parts.changes.append(
          tenant,
          some.map(({ change }) => change),
        ),
      ),
    );
  }

  /** Writes list documents. One that the store refuses must not keep the others of its batch from their list. */
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

  /**
   * Runs work for one actor. Throws when a store is unavailable, which stops the projection. A fault of the actor alone
   * is reported and returns false, so that the others go on.
   */
  async #alone(failure: string, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'unavailable') throw error;
      this.#parts.warn(failure, error);
      return false;
    }
  }

  /**
   * The time from which retention counts: that of the store, so that a node whose clock is behind does not make its runs older.
   */
  #endedAt(partition: Partition): number {
    const now = this.#parts.clock.now();
    return Math.max(now, this.#parts.serverOf(partition)?.clock.now() ?? now);
  }

  /** Makes an actor's view. An actor whose view is broken is skipped, so that it does not stop the others. */
  #lookAt(
    definition: ActorDefinition,
    address: Address,
    partition: Partition,
    { record, size }: CommittedActor,
  ): Look | null {
    try {
      const { state, revision, lastEvent, stuck } = record;
      const [, tenant = '', id = ''] = address.split('/');
      const view = definition.view?.project(state, { tenant, id }) ?? null;
      const place = definition.view?.isLocated === true ? { node: this.#parts.node, pool: poolOf(partition) } : {};
      const document = view === null ? null : { ...view, ...place, version: revision };
      const ended = definition.done?.(state) === true && stuck === null;
      const retained = retainedOf(definition, state, { tenant, id }, this.#endedAt(partition), view);
      return { document, ended, revision, lastEvent, ...retained, bytes: size };
    } catch (thrown) {
      this.#parts.warn(`the view of ${address} failed: it is neither listed nor archived`, toSvcError(thrown));
      return null;
    }
  }
}

/** The fields of an ended actor that retention needs. */
export function retainedOf(
  definition: ActorDefinition,
  state: unknown,
  self: { readonly tenant: string; readonly id: string },
  endedAt: number,
  view = definition.view?.project(state, self) ?? null,
): Omit<Retained, 'bytes'> {
  return {
    retainedAs: definition.retainedAs ?? 'runs',
    endedAt,
    parent: definition.belongsTo?.(state, self) ?? null,
    viewId: view?.id ?? self.id,
  };
}

function changeOf(collection: string, document: StoredDocument): { readonly tenant: string; readonly change: Change } {
  const { tenant, id } = document;
  const owner = 'owner' in document && typeof document.owner === 'string' ? document.owner : undefined;
  return { tenant, change: { collection, id, owner } };
}

/** Counts the end of an actor whose list document says when it started and ended, and how. */
function countEnd(meter: Meter | undefined, address: Address, document: StoredDocument | null): void {
  if (meter === undefined || document === null) return;
  const { status, started_at, ended_at, ...more }: Readonly<Record<string, unknown>> = { ...document };
  if (typeof status !== 'string' || typeof started_at !== 'string' || typeof ended_at !== 'string') return;
  const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
  meter.runEnded(parseAddress(address).kind, status, Date.parse(ended_at) - Date.parse(started_at), {
    address,
    name: text(more.agent_name) ?? text(more.workflow_name),
    trace: text(more.trace_id),
    reason: text(more.reason),
    outcome: text(more.outcome),
  });
}
