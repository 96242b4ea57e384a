import { type Partition, poolOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Page, type PageAsked, pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Random } from '../../runtime/random.ts';
import type { Takeover } from '../../usecases/ports/cluster.ts';
import { type Fleet, type FleetMember, isServing } from './fleet.ts';
import type { FleetPlacement } from './fleet-placement.ts';
import { movedBetween } from './plan.ts';

const TAKEOVERS: CollectionSpec = { name: 'takeovers', unique: [], indexes: [['at'], ['node', 'at']] };

/** Most records; the oldest are deleted. */
const MOST_RECORDS = 5_000;

/** Records are written together, since a node takes many partitions for one reason. */
const GATHER_MS = 500;

type TakeoverRecord = StoredDocument & Takeover;

interface TakeoversParts {
  readonly documents: Documents;
  readonly node: string;
  readonly fleet: Pick<FleetPlacement, 'incarnation' | 'onFleet' | 'onServed' | 'hasLeft'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

/** Partitions that this node took over for one reason, until they are written. */
interface Gathered extends TakeoverCause {
  readonly pool: string;
  readonly at: number;
  readonly partitions: Partition[];
}

/**
 * The history of takeovers. Each node records the partitions that it began to serve, and derives the reason from the change of
 * the members. The record is written beside the work of the kernel: a crash in the next moment loses the record, never a
 * partition.
 */
export class Takeovers {
  readonly #parts: TakeoversParts;
  readonly #records: Collection<TakeoverRecord>;
  /** Why partitions are assigned to this node; used when it gets their leases. */
  readonly #causes = new Map<Partition, TakeoverCause>();
  #gathered = new Map<string, Gathered>();
  #cancel: (() => void) | null = null;
  #writing: Promise<void> = Promise.resolve();
  readonly #unwatch: readonly (() => void)[];

  private constructor(parts: TakeoversParts, records: Collection<TakeoverRecord>) {
    this.#parts = parts;
    this.#records = records;
    this.#unwatch = [
      parts.fleet.onFleet((after, before) => this.#seen(after, before)),
      parts.fleet.onServed((partition) => this.#served(partition)),
    ];
  }

  static async open(parts: TakeoversParts): Promise<Takeovers> {
    return new Takeovers(parts, await parts.documents.collection<TakeoverRecord>(TAKEOVERS));
  }

  /** Newest first. */
  async list(node: string | undefined, page: PageAsked): Promise<Page<Takeover>> {
    const of = {
      tenant: SYSTEM_TENANT,
      where: node === undefined ? undefined : { node },
      sort: [['at', 'desc'] as const, ['id', 'desc'] as const],
    };
    return shownPage(await pageOf(this.#records, 'takeovers', of, page), shown);
  }

  /** Writes the gathered records, and ends. */
  async close(): Promise<void> {
    for (const stop of this.#unwatch) stop();
    this.#cancel?.();
    this.#write();
    await this.#writing;
  }

  #seen(after: Fleet, before: Fleet | null): void {
    const { node, fleet } = this.#parts;
    const earlier = before ?? after.without(node);
    for (const layout of after.pools) {
      for (const { partition, from, to } of movedBetween(layout, earlier, after)) {
        if (to === node)
          this.#causes.set(partition, reasonOf({ from, pool: layout.pool, earlier, after, hasLeft: fleet.hasLeft }));
        else this.#causes.delete(partition);
      }
    }
  }

  #served(partition: Partition): void {
    const { node, clock } = this.#parts;
    const lost: TakeoverCause = { from: node, reason: 'lease_lost', because: [] };
    const cause = this.#causes.get(partition) ?? lost;
    this.#causes.delete(partition);
    const pool = poolOf(partition);
    const key = JSON.stringify([cause, pool]);
    const known = this.#gathered.get(key);
    if (known !== undefined) known.partitions.push(partition);
    else this.#gathered.set(key, { ...cause, pool, at: clock.now(), partitions: [partition] });
    this.#cancel ??= clock.after(GATHER_MS, () => this.#write());
  }

  #write(): void {
    this.#cancel = null;
    const gathered = [...this.#gathered.values()];
    this.#gathered = new Map();
    if (gathered.length === 0) return;
    const records = gathered.map((one) => this.#recordOf(one));
    this.#writing = this.#writing
      .then(() => this.#store(records))
      .catch((thrown: unknown) => this.#parts.warn('takeovers could not be recorded', thrown));
  }

  async #store(records: readonly TakeoverRecord[]): Promise<void> {
    await this.#records.putMany(records);
    const sort = [['at', 'desc'] as const];
    const [last] = await this.#records.find({ tenant: SYSTEM_TENANT, sort, skip: MOST_RECORDS, limit: 1 });
    if (last !== undefined) await this.#records.deleteMany({ tenant: SYSTEM_TENANT, where: { at: { lte: last.at } } });
  }

  #recordOf({ at, pool, partitions, from, reason, because }: Gathered): TakeoverRecord {
    const { node, fleet, random } = this.#parts;
    return {
      tenant: SYSTEM_TENANT,
      id: random.uuid(),
      version: 1,
      at: new Date(at).toISOString(),
      node,
      incarnation: fleet.incarnation,
      from,
      reason,
      because,
      pool,
      partitions: partitions.length,
      numbers: partitions.map((partition) => Number(partition.slice(pool.length + 1))).sort((a, b) => a - b),
    };
  }
}

const shown = ({ tenant: _tenant, version: _version, ...takeover }: TakeoverRecord): Takeover => takeover;

/** Why a partition is assigned to a node. */
type TakeoverCause = Pick<Takeover, 'from' | 'reason' | 'because'>;

/** Most nodes that are named as the cause of a new distribution. */
const MOST_NAMED = 16;

interface Change {
  /** The owner before; null for none. */
  readonly from: string | null;
  readonly pool: string;
  readonly earlier: Fleet;
  readonly after: Fleet;
  /** Whether an incarnation announced that it leaves. */
  readonly hasLeft: (incarnation: string) => boolean;
}

/** Derives from two views of the members why a partition changed its owner. */
function reasonOf({ from, pool, earlier, after, hasLeft }: Change): TakeoverCause {
  if (from === null) {
    const isNew = !earlier.pools.some((layout) => layout.pool === pool);
    return { from, reason: isNew ? 'new_pool' : 'not_served', because: [] };
  }
  const before = earlier.members.find(({ node }) => node === from);
  const now = after.members.find(({ node }) => node === from);
  if (now === undefined)
    return { from, reason: before !== undefined && hasLeft(before.incarnation) ? 'left' : 'died', because: [] };
  if (now.info?.draining === true) return { from, reason: 'drained', because: [] };
  if (!isServing(now, pool)) return { from, reason: 'not_eligible', because: [] };
  return { from, reason: 'rebalanced', because: changedNodes(pool, earlier, after) };
}

/** The members that joined, left or changed, so that a pool was distributed again. */
function changedNodes(pool: string, earlier: Fleet, after: Fleet): string[] {
  const before = servingIn(pool, earlier.members);
  const now = servingIn(pool, after.members);
  const ids = new Set([...before.keys(), ...now.keys()]);
  return [...ids].filter((id) => before.get(id) !== now.get(id)).slice(0, MOST_NAMED);
}

const servingIn = (pool: string, members: readonly FleetMember[]): Map<string, number | undefined> =>
  new Map(members.filter((one) => isServing(one, pool)).map(({ node, info }) => [node, info?.weight]));
