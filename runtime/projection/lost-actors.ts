import { type Address, addressOf, type Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import { type Collection, REMOVED_VERSION, type Stored, type StoredDocument } from '../documents.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import { OneAtATime } from '../kit/queues.ts';
import type { Locator } from '../locator.ts';
import type { Archive } from './archive.ts';
import { documentOf, type KeptParts, keptIn, keptOf, readOf, setListBack } from './older-lists.ts';
import type { Views } from './views.ts';

interface LostActorsParts extends KeptParts {
  readonly views: Views;
  readonly archive: Pick<Archive, 'loadRecord' | 'revisions'>;
  readonly locator: Pick<Locator, 'locate'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly warn: (message: string, error: unknown) => void;
}

/** Delay before the lists are checked. A node acquires its partitions one after the other, and one check covers all of them. */
const GATHER_MS = 1_000;
const AGAIN_MS = 5_000;
const PAGE = 500;

/**
 * Removes actors from the lists that a store no longer knows because it lost its last writes. Without this an actor
 * that left no trace would be listed in its last state for ever.
 */
export class LostActors {
  readonly #parts: LostActorsParts;
  /** Partitions to check. */
  readonly #partitions = new Set<Partition>();
  readonly #working = new OneAtATime();
  #cancel: (() => void) | null = null;
  #stopped = false;

  constructor(parts: LostActorsParts) {
    this.#parts = parts;
  }

  /** Schedules a check of partitions whose store went back to an older state. Their ended actors are already closed. */
  lookIn(partitions: Iterable<Partition>): void {
    if (this.#stopped) return;
    for (const partition of partitions) this.#partitions.add(partition);
    this.#soon(GATHER_MS);
  }

  /** Ends after the page that is being checked. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#partitions.clear();
    this.#cancel?.();
    return this.#working.run(async () => {});
  }

  #soon(ms: number): void {
    this.#cancel ??= this.#parts.clock.after(ms, () => {
      this.#cancel = null;
      this.#working.run(() => this.#look()).catch((thrown: unknown) => this.#parts.warn(FAILED, toSvcError(thrown)));
    });
  }

  async #look(): Promise<void> {
    const partitions = new Set(this.#partitions);
    this.#partitions.clear();
    if (partitions.size === 0) return;
    try {
      const gone = await this.#correctLists(partitions);
      if (gone > 0)
        this.#parts.warn('the store lost its last writes: lists named actors that it does not have', lost(gone));
    } catch (thrown) {
      if (this.#stopped) return;
      this.#parts.warn(FAILED, toSvcError(thrown));
      for (const partition of partitions) this.#partitions.add(partition);
      this.#soon(AGAIN_MS);
    }
  }

  async #correctLists(partitions: ReadonlySet<Partition>): Promise<number> {
    let gone = 0;
    for (const { kind, view: how } of this.#parts.registry.definitions) {
      const view = how === undefined ? undefined : this.#parts.views.get(how.collection);
      if (how?.open === undefined || view === undefined) continue;
      for (const tenant of await view.tenants()) {
        let after: readonly [string] | undefined;
        while (!this.#stopped) {
          const page = await view.findStored({ tenant, where: how.open, limit: PAGE, after });
          gone += await this.#lookAt(view, kind, page, partitions);
          const last = page.at(-1);
          if (last === undefined || page.length < PAGE) break;
          after = [last.id];
        }
      }
    }
    return gone;
  }

  /** Store first, then archive: an actor that ends meanwhile is in the archive before it leaves the store. */
  async #lookAt(
    view: Collection<StoredDocument>,
    kind: string,
    page: readonly Stored[],
    partitions: ReadonlySet<Partition>,
  ): Promise<number> {
    const { locator, views, warn } = this.#parts;
    const listed = new Map<Address, Stored>(page.map((one) => [addressOf(kind, one.tenant, one.id), one]));
    const located = await Promise.all(
      [...listed.keys()].map(async (address) => ({ address, partition: await locator.locate(address) })),
    );
    let gone = 0;
    for (const [partition, some] of Map.groupBy(located, (one) => one.partition)) {
      if (!partitions.has(partition)) continue;
      const addresses = some.map(({ address }) => address);
      const kept = await keptIn(this.#parts, partition, addresses);
      const missing: Address[] = [];
      for (const [address, one] of kept) {
        const version = listed.get(address)?.version ?? 0;
        const read = readOf(one);
        if (one === null) missing.push(address);
        else if (read !== null && version > read.record.revision)
          await setListBack(views, address, read, { listed: version, warn });
      }
      gone += await this.#correctList(
        view,
        partition,
        new Map(missing.map((address) => [address, listed.get(address)])),
      );
    }
    return gone;
  }

  /** Actors without a record: an ended one is listed as ended, and the others are removed from the list. */
  async #correctList(
    view: Collection<StoredDocument>,
    partition: Partition,
    missing: ReadonlyMap<Address, Stored | undefined>,
  ): Promise<number> {
    const { archive, views, warn } = this.#parts;
    const archived = missing.size === 0 ? new Map<string, number>() : await archive.revisions([...missing.keys()]);
    const deleted: Address[] = [];
    for (const [address, one] of missing) {
      if (one === undefined || one.version === REMOVED_VERSION) continue;
      if (!archived.has(address)) {
        if (await view.deleteVersion(one.tenant, one.id, one.version)) deleted.push(address);
      } else {
        // Its end is not listed: the node failed between the archive and the list, or the actor ran again and ended
        // with fewer changes than the run that was lost, so that its document was refused as older.
        const ended = readOf(await keptOf(this.#parts, address, await archive.loadRecord(address)));
        if (ended !== null) await setListBack(views, address, ended, { listed: one.version, warn });
      }
    }
    // An actor may have started again after its record was looked up; its first document was refused as older then.
    let gone = 0;
    for (const [address, one] of deleted.length === 0 ? [] : await keptIn(this.#parts, partition, deleted)) {
      if (one === null) gone += 1;
      for (const { document } of documentOf(address, one, warn)) await view.put(document);
    }
    return gone;
  }
}

const FAILED = 'lists could not be checked for actors that the store lost; they are checked again';

const lost = (count: number): SvcError =>
  new SvcError(
    'conflict',
    `${counted(count, 'actor was', 'actors were')} removed from lists: there was neither a record nor an end`,
  );
