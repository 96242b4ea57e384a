import type { Partition, PoolLayout } from '../../runtime/address.ts';
import { jsonOrNull } from '../../runtime/json.ts';
import { type Assignment, tagsOfPool } from '../../runtime/locator.ts';
import type { Member } from '../../runtime/members.ts';
import { MemberInfo } from '../../usecases/ports/cluster.ts';
import { assign } from './assign.ts';

/** A live member. Its info is null when this version cannot read it; then it serves nothing. */
export interface FleetMember {
  readonly node: string;
  readonly incarnation: string;
  readonly info: MemberInfo | null;
}

/** Whether a member may serve a pool. */
export const isServing = (member: FleetMember, pool: string): boolean =>
  member.info !== null && isEligible(pool, member.info);

/** The assignment of a pool, with the key of its candidates. */
interface Shared {
  readonly key: string;
  readonly holders: readonly string[];
}

/** The fleet at one poll, and the assignment of its pools. Pools with unchanged candidates keep their assignment. */
export class Fleet {
  readonly members: readonly FleetMember[];
  readonly pools: readonly PoolLayout[];
  /** `node/incarnation` of each. */
  readonly incarnations: readonly string[];
  /** As the store has them. */
  readonly #rows: readonly Member[];
  /** By the card that they are read from. Members that did not change keep theirs. */
  readonly #infos = new Map<string, MemberInfo | null>();
  readonly #live: ReadonlySet<string>;
  readonly #shared = new Map<string, Shared>();
  #answer: { readonly node: string; readonly assignment: Assignment } | null = null;

  constructor(members: readonly Member[], pools: readonly PoolLayout[], before: Fleet | null) {
    this.#rows = members;
    this.pools = pools;
    const earlier = before === null ? this.#infos : before.#infos;
    for (const { card } of members) this.#infos.set(card, earlier.get(card) ?? readInfo(card));
    this.members = members.map(({ node, incarnation, card }) => {
      return { node, incarnation, info: this.#infos.get(card) ?? null };
    });
    this.incarnations = members.map(({ node, incarnation }) => `${node}/${incarnation}`);
    this.#live = new Set([...this.incarnations, ...members.map(({ node }) => node)]);
    for (const [pool, shared] of before === null ? [] : before.#shared) this.#shared.set(pool, shared);
  }

  /** Whether another poll found the same. */
  isAlso(members: readonly Member[], pools: readonly PoolLayout[]): boolean {
    return (
      JSON.stringify(pools) === JSON.stringify(this.pools) &&
      members.length === this.#rows.length &&
      members.every((member, at) => isSame(member, this.#rows[at]))
    );
  }

  /** The same fleet without a member. */
  without(node: string): Fleet {
    const others = this.members.filter((member) => member.node !== node);
    return new Fleet(others.map(cardOf), this.pools, this);
  }

  /** `node`, or `node/incarnation`. */
  isLive(holder: string): boolean {
    return this.#live.has(holder);
  }

  /**
   * The needs that some member of the pool meets and another one does not: work with these needs is placed by them. A need that
   * no member meets is no reason to wait; the work itself reports what is missing.
   */
  scarceIn(pool: string, needs: readonly string[]): readonly string[] {
    const offers = this.members.flatMap((member) =>
      isServing(member, pool) && member.info?.capabilities !== undefined ? [new Set(member.info.capabilities)] : [],
    );
    return needs.filter((need) => offers.some((offer) => offer.has(need)) && offers.some((offer) => !offer.has(need)));
  }

  /** Capabilities of the members besides their tags. */
  get capabilities(): readonly string[] {
    return [...new Set(this.members.flatMap(({ info }) => info?.capabilities ?? []))];
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

  /** The owner of each partition of a pool, by its number; empty without candidates. */
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

const isSame = (one: Member, other: Member | undefined): boolean =>
  one === other || (one.node === other?.node && one.incarnation === other.incarnation && one.card === other.card);

/** A member as the store holds it. */
export const cardOf = ({ node, incarnation, info }: FleetMember): Member => ({
  node,
  incarnation,
  card: JSON.stringify(info),
});

/** Null for a text of an unknown version. */
const readInfo = (text: string): MemberInfo | null => MemberInfo.safeParse(jsonOrNull(text)).data ?? null;

/** Whether a member may serve a pool (P1). A draining member serves nothing. */
function isEligible(pool: string, info: MemberInfo): boolean {
  if (info.draining) return false;
  if (pool === 'system') return info.role !== 'worker';
  if (info.role === 'controller') return false;
  const { tags, capabilities = [], exclusive = false } = info;
  const wanted = tagsOfPool(pool);
  if (exclusive && !wanted.some((tag) => tags.includes(tag))) return false;
  return wanted.every((tag) => tags.includes(tag) || capabilities.includes(tag));
}
