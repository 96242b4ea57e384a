import type { Partition, PoolLayout } from '../../runtime/address.ts';
import { invalidField } from '../../runtime/errors.ts';
import { tagsOfPool } from '../../runtime/locator.ts';
import type { ClusterPlan, FleetChange, MemberInfo, PlannedMove, PlannedPool } from '../../usecases/ports/cluster.ts';
import { cardOf, Fleet, type FleetMember, isServing } from './fleet.ts';
import { poolStatusOf } from './fleet-status.ts';

/** A partition that would get another owner. Null: no node serves it. */
interface MovedPartition {
  readonly partition: Partition;
  readonly from: string | null;
  readonly to: string | null;
}

/**
 * The fleet after nodes have left and joined. The joining nodes have ids that the fleet does not know, since the real
 * ones are not known either. Throws `invalid_argument` for a node that is not a member.
 */
export function changedFleet(fleet: Fleet, { without, join }: FleetChange): Fleet {
  const known = new Set(fleet.members.map(({ node }) => node));
  for (const node of without) {
    if (known.has(node)) continue;
    throw invalidField('without', `there is no live node ${node}`);
  }
  const staying = fleet.members.filter(({ node }) => !without.includes(node));
  const joining: FleetMember[] = [];
  for (const { count, role, tags, weight } of join) {
    for (let made = 0; made < count; made += 1) {
      const node = unusedId(known);
      known.add(node);
      joining.push({ node, incarnation: node, info: infoOf(role, tags, weight) });
    }
  }
  return new Fleet([...staying, ...joining].map(cardOf), fleet.pools, fleet);
}

function unusedId(known: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const id = `new-${number}`;
    if (!known.has(id)) return id;
  }
}

const infoOf = (role: MemberInfo['role'], tags: readonly string[], weight: number): MemberInfo => ({
  role,
  tags: [...tags],
  weight,
  draining: false,
  version: '',
  startedAt: 0,
  pulse: null,
  clusterAddress: null,
  restUrl: null,
});

/** The partitions of a pool whose owners differ between two fleets. */
export function movedBetween(layout: PoolLayout, before: Fleet, after: Fleet): MovedPartition[] {
  const earlier = before.holdersOf(layout);
  const later = after.holdersOf(layout);
  return Array.from({ length: layout.partitions }, (_, number): MovedPartition => {
    const partition: Partition = `${layout.pool}:${number}`;
    return { partition, from: earlier[number] ?? null, to: later[number] ?? null };
  }).filter(({ from, to }) => from !== to);
}

/** The changes from one fleet to another. `actorsOf`: number of actors that live in a moved partition. */
export function planOf(before: Fleet, after: Fleet, actorsOf: (partition: Partition) => number): ClusterPlan {
  const pools = before.pools.map((layout) => plannedPool(layout, before, after, actorsOf));
  const ids = [...new Set([...before.members, ...after.members].map(({ node }) => node))].sort();
  return {
    nodes: ids.map((id) => plannedNode(id, before, after)),
    pools,
    moved_partitions: pools.reduce((sum, { moved_partitions }) => sum + moved_partitions, 0),
    moved_actors: pools.reduce((sum, { moved_actors }) => sum + moved_actors, 0),
    lost_tags: lostTags(before, after),
  };
}

function plannedPool(
  layout: PoolLayout,
  before: Fleet,
  after: Fleet,
  actorsOf: (partition: Partition) => number,
): PlannedPool {
  const moves = new Map<string, PlannedMove>();
  for (const { partition, from, to } of movedBetween(layout, before, after)) {
    const key = JSON.stringify([from, to]);
    const known = moves.get(key) ?? { from, to, partitions: 0, actors: 0 };
    moves.set(key, { ...known, partitions: known.partitions + 1, actors: known.actors + actorsOf(partition) });
  }
  const list = [...moves.values()].sort((a, b) => b.partitions - a.partitions);
  return {
    pool: layout.pool,
    tags: tagsOfPool(layout.pool),
    partitions: layout.partitions,
    was_served: before.isServed(layout.pool),
    waiting_for: poolStatusOf(layout, after).waiting_for,
    moved_partitions: list.reduce((sum, { partitions }) => sum + partitions, 0),
    moved_actors: list.reduce((sum, { actors }) => sum + actors, 0),
    moves: list,
  };
}

function plannedNode(id: string, before: Fleet, after: Fleet): ClusterPlan['nodes'][number] {
  const earlier = before.members.find(({ node }) => node === id);
  const later = after.members.find(({ node }) => node === id);
  const { info } = later ?? earlier ?? { info: null };
  return {
    node_id: id,
    change: later === undefined ? 'leaves' : earlier === undefined ? 'joins' : 'stays',
    role: info?.role ?? null,
    tags: info?.tags ?? [],
    before: sharesOf(earlier, before),
    after: sharesOf(later, after),
  };
}

/** Number of partitions of a member by pool, for each pool that it may serve. */
function sharesOf(member: FleetMember | undefined, fleet: Fleet): Record<string, number> {
  if (member === undefined) return {};
  const pools = fleet.pools.filter(({ pool }) => isServing(member, pool));
  return Object.fromEntries(
    pools.map((layout) => [layout.pool, fleet.holdersOf(layout).filter((holder) => holder === member.node).length]),
  );
}

/** Tags that a working node has now and none has afterwards. */
function lostTags(before: Fleet, after: Fleet): string[] {
  const kept = tagsOf(after);
  return [...tagsOf(before)].filter((tag) => !kept.has(tag)).sort();
}

const tagsOf = ({ members }: Fleet): Set<string> =>
  new Set(members.flatMap(({ info }) => (info === null || info.draining ? [] : info.tags)));
