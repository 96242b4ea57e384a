import type { Partition, PoolLayout } from '../../runtime/address.ts';
import { type Assignment, tagsOfPool } from '../../runtime/locator.ts';
import type { Member } from '../../runtime/members.ts';
import { MemberInfo } from '../../usecases/ports/cluster.ts';
import { assign } from './assign.ts';

/** A live member and what it says of itself; null when this version cannot read it, and then it serves nothing. */
export interface FleetMember {
  readonly node: string;
  readonly incarnation: string;
  readonly info: MemberInfo | null;
}

/** Which pools a member may serve. */
export const isServing = (member: FleetMember, pool: string): boolean =>
  member.info !== null && isEligible(pool, member.info);

/** Who holds what of one pool, and of which candidates that was computed. */
interface Shared {
  readonly key: string;
  readonly holders: readonly string[];
}

/** The fleet as one look saw it, and what follows from it for everyone. Pools whose candidates stayed keep their answer. */
export class Fleet {
  readonly members: readonly FleetMember[];
  readonly pools: readonly PoolLayout[];
  /** Equal for two looks that saw the same. */
  readonly key: string;
  /** `node/incarnation` of each. */
  readonly incarnations: readonly string[];
  readonly #live: ReadonlySet<string>;
  readonly #shared = new Map<string, Shared>();
  #answer: { readonly node: string; readonly assignment: Assignment } | null = null;

  constructor(members: readonly Member[], pools: readonly PoolLayout[], before: Fleet | null) {
    this.members = members.map(({ node, incarnation, card }) => ({ node, incarnation, info: readInfo(card) }));
    this.pools = pools;
    this.key = keyOf(members, pools);
    this.incarnations = members.map(({ node, incarnation }) => `${node}/${incarnation}`);
    this.#live = new Set([...this.incarnations, ...members.map(({ node }) => node)]);
    for (const [pool, shared] of before === null ? [] : before.#shared) this.#shared.set(pool, shared);
  }

  /** `node`, or one life of it: `node/incarnation`. */
  isLive(holder: string): boolean {
    return this.#live.has(holder);
  }

  isServed(pool: string): boolean {
    return this.members.some((member) => isServing(member, pool));
  }

  assignmentOf(node: string): Assignment {
    if (this.#answer?.node === node) return this.#answer.assignment;
    const member = this.members.find((one) => one.node === node);
    const pools = member === undefined ? [] : this.pools.filter(({ pool }) => isServing(member, pool));
    const wanted = pools.flatMap((layout) =>
      this.holdersOf(layout).flatMap((holder, n): Partition[] => (holder === node ? [`${layout.pool}:${n}`] : [])),
    );
    const assignment = { wanted: new Set(wanted), queues: pools.map(({ pool }) => pool) };
    this.#answer = { node, assignment };
    return assignment;
  }

  /** The node of each partition of a pool, by its number; empty when nobody may serve it. */
  holdersOf(layout: PoolLayout): readonly string[] {
    const candidates = this.members.flatMap((member) =>
      member.info !== null && isServing(member, layout.pool) ? [{ node: member.node, weight: member.info.weight }] : [],
    );
    const key = JSON.stringify([layout.partitions, candidates]);
    const known = this.#shared.get(layout.pool);
    if (known?.key === key) return known.holders;
    const holders = assign(layout, candidates);
    this.#shared.set(layout.pool, { key, holders });
    return holders;
  }
}

export const keyOf = (members: readonly Member[], pools: readonly PoolLayout[]): string =>
  JSON.stringify([members.map(({ node, incarnation, card }) => [node, incarnation, card]), pools]);

function readInfo(text: string): MemberInfo | null {
  try {
    return MemberInfo.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    // Not JSON: a version that this one does not know.
    return null;
  }
}

/** Whether a member may serve a pool (P1). A draining one serves nothing. */
function isEligible(pool: string, info: MemberInfo): boolean {
  if (info.draining) return false;
  if (pool === 'system') return info.role !== 'worker';
  return info.role !== 'controller' && tagsOfPool(pool).every((tag) => info.tags.includes(tag));
}
