import { type Address, addressOf, type Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import { type Collection, REMOVED_VERSION, type Stored, type StoredDocument } from '../documents.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { OneAtATime } from '../kit/queues.ts';
import type { Locator } from '../locator.ts';
import type { Archive } from './archive.ts';
import { type KeptParts, keptIn, setListsBack } from './older-lists.ts';
import type { Views } from './views.ts';

interface LostActorsParts extends KeptParts {
  readonly views: Views;
  readonly archive: Pick<Archive, 'revisions'>;
  readonly locator: Pick<Locator, 'locate'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Delay before the lists are checked: a node acquires its partitions one after the other, and one check serves all of
 * them.
 */
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

  constructor(parts: LostActorsParts) {
    this.#parts = parts;
  }

  /** Schedules a check of partitions whose store went back to an older state. Their ended actors are already closed. */
  lookIn(partitions: Iterable<Partition>): void {
    for (const partition of partitions) this.#partitions.add(partition);
    this.#soon(GATHER_MS);
  }

  stop(): Promise<void> {
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
      const gone = await this.#takenOff(partitions);
      if (gone > 0) this.#parts.warn('the store lost actors that lists had', lost(gone));
    } catch (thrown) {
      this.#parts.warn(FAILED, toSvcError(thrown));
      for (const partition of partitions) this.#partitions.add(partition);
      this.#soon(AGAIN_MS);
    }
  }

  async #takenOff(partitions: ReadonlySet<Partition>): Promise<number> {
    let gone = 0;
    for (const { kind, view: how } of this.#parts.registry.definitions) {
      const view = how === undefined ? undefined : this.#parts.views.get(how.collection);
      if (how?.open === undefined || view === undefined) continue;
      for (const tenant of await view.tenants()) {
        let after: readonly [string] | undefined;
        for (;;) {
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
    const { archive, locator, views } = this.#parts;
    const listed = new Map<Address, Stored>(page.map((one) => [addressOf(kind, one.tenant, one.id), one]));
    const located = await Promise.all(
      [...listed.keys()].map(async (address) => ({ address, partition: await locator.locate(address) })),
    );
    let gone = 0;
    for (const [partition, some] of Map.groupBy(located, (one) => one.partition)) {
      if (!partitions.has(partition)) continue;
      const kept = await keptIn(
        this.#parts,
        partition,
        some.map(({ address }) => address),
      );
      await setListsBack(views, kept);
      const missing = [...kept].flatMap(([address, one]) => (one === null ? [address] : []));
      const archived = missing.length === 0 ? new Map() : await archive.revisions(missing);
      for (const address of missing) {
        const one = listed.get(address);
        if (one === undefined || archived.has(address) || one.version === REMOVED_VERSION) continue;
        if (await view.deleteVersion(one.tenant, one.id, one.version)) gone += 1;
      }
    }
    return gone;
  }
}

const FAILED = 'lists may have actors that the store lost';

const lost = (count: number): SvcError =>
  new SvcError('conflict', `${count} actors that had not ended were taken off their lists`);
