import { type Partition, poolOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import { type Assignment, type Placement, tagsOfPool } from '../../runtime/locator.ts';
import type { Members } from '../../runtime/members.ts';
import type { Random } from '../../runtime/random.ts';
import type { ClusterStatus, MemberInfo, MemberStatus, PoolStatus, WaitingFor } from '../../usecases/ports/cluster.ts';
import { type Fleet, type FleetMember, isServing } from './fleet.ts';
import { type FleetHint, MembershipPoller, parseFleetHint } from './membership-poller.ts';

/** Every node defines its pools before it joins: a store that knows none lost all it had. */
const EMPTIED = 'the store knows no pools: it was emptied under this node, and what ran is lost; restart the nodes';

/** What a node says of itself; whether it drains is said by `drain`. */
export type OwnMemberInfo = Omit<MemberInfo, 'draining'>;

interface FleetPlacementOptions {
  readonly members: Members;
  /** Node id, the same over restarts. */
  readonly node: string;
  readonly info: OwnMemberInfo;
  readonly leaseTtlMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Hears of words that could not be told; the others then learn at their next look. */
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * The kernel's placement on a fleet (P1, P2): the node lease, who else has one, and what follows from that. No
 * node leads: each computes the same from the same members, the store's clock says who is there.
 */
export class FleetPlacement implements Placement {
  readonly incarnation: string;
  readonly #options: FleetPlacementOptions;
  #info: MemberInfo;
  #joined = false;
  /** The life of this node that had the node lease before. */
  #earlier: string | null = null;
  readonly #poller: MembershipPoller;
  readonly #wakes = new Set<() => void>();
  readonly #watchers = new Set<(members: readonly FleetMember[]) => void>();
  #deafen: Unsubscribe | null = null;
  #ringing = false;

  constructor(options: FleetPlacementOptions) {
    this.#options = options;
    this.#info = { ...options.info, draining: false };
    this.incarnation = options.random.uuid();
    this.#poller = new MembershipPoller({
      ...options,
      onSeen: (fleet) => {
        for (const watch of this.#watchers) watch(fleet.members);
      },
      onSurprise: () => this.#ring(),
    });
  }

  async join(): Promise<void> {
    const holder = await this.#holder();
    if (holder !== undefined && holder !== this.incarnation) this.#earlier = holder;
    await this.#announce(true);
    this.#joined = true;
    await this.#tell('joined');
  }

  /**
   * Throws `conflict` when another process runs as this node: this one must stop serving for good; `lease_lost` when
   * the node lease was ended or ran out: drop everything and join again; `unavailable` when the store does not answer,
   * or was emptied.
   */
  async assign(): Promise<Assignment> {
    if (!(await this.#announce(false))) throw await this.#lost();
    const fleet = await this.#poller.look();
    if (fleet.pools.length === 0) throw new SvcError('unavailable', EMPTIED);
    return fleet.assignmentOf(this.#options.node);
  }

  isLive(holder: string): boolean {
    // Before the first look nobody is known to be dead.
    return this.#poller.fleet?.isLive(holder) ?? true;
  }

  incarnations(): readonly string[] {
    return this.#poller.fleet?.incarnations ?? [];
  }

  async isGone(holder: string): Promise<boolean> {
    if (this.isLive(holder)) return false;
    return !(await this.#poller.fresh()).isLive(holder);
  }

  async hasEnded(holder: string): Promise<boolean> {
    const at = holder.lastIndexOf('/');
    if (!(await this.isGone(holder))) return false;
    return !(await this.#options.members.isKnown(holder.slice(0, at), holder.slice(at + 1)));
  }

  async isServed(pool: string): Promise<boolean> {
    if (this.#poller.fleet?.isServed(pool) === true) return true;
    return (await this.#poller.fresh()).isServed(pool);
  }

  onChange(wake: () => void): Unsubscribe {
    this.#wakes.add(wake);
    this.#deafen ??= this.#options.members.onSignal(this.#options.node, (text) => this.#hear(text));
    return () => {
      this.#wakes.delete(wake);
      if (this.#wakes.size > 0) return;
      this.#deafen?.();
      this.#deafen = null;
    };
  }

  freed(): Promise<void> {
    return this.#tell('freed');
  }

  async poolDefined(): Promise<void> {
    this.#ring();
    await this.#tell('pooled');
  }

  /** New tags, from now on: its pools change hands without a restart. Throws `unavailable`; the next renewal says it then. */
  setTags(tags: readonly string[]): Promise<void> {
    return this.changeInfo({ tags: [...tags] });
  }

  /** For what is known only after the start, such as a port that the system chose. Throws `unavailable` as above. */
  async changeInfo(change: Partial<OwnMemberInfo>): Promise<void> {
    await this.#become({ ...this.#info, ...change });
  }

  async drain(): Promise<void> {
    await this.#become({ ...this.#info, draining: true });
  }

  async leave(): Promise<void> {
    this.#joined = false;
    this.#poller.stop();
    if (await this.#options.members.retire(this.#options.node, this.incarnation)) await this.#tell('left');
  }

  /** Ends the node lease of a life that was seen to die, and lets everyone know. */
  async declareDead(node: string, incarnation: string): Promise<void> {
    if (incarnation === this.incarnation) return;
    if (!(await this.#options.members.retire(node, incarnation))) return;
    this.#ring();
    await this.#tell('retired');
  }

  /** Calls back with the live members, at once when they are known and whenever a look saw a change. */
  onMembers(watch: (members: readonly FleetMember[]) => void): Unsubscribe {
    this.#watchers.add(watch);
    const { fleet } = this.#poller;
    if (fleet !== null) watch(fleet.members);
    return () => this.#watchers.delete(watch);
  }

  /** The operators' view; looks anew. Throws `unavailable`. */
  async view(): Promise<ClusterStatus> {
    return statusOf(await this.#poller.unasked());
  }

  /** The member that should hold a partition now; null when none may. Looks anew. Throws `unavailable`. */
  async holderOf(partition: Partition): Promise<string | null> {
    const fleet = await this.#poller.unasked();
    const layout = fleet.pools.find(({ pool }) => pool === poolOf(partition));
    const holder = layout === undefined ? '' : fleet.holdersOf(layout)[Number(partition.slice(layout.pool.length + 1))];
    return holder === undefined || holder === '' ? null : holder;
  }

  async #become(info: MemberInfo): Promise<void> {
    this.#info = info;
    if (!this.#joined) return;
    // A lease that was lost meanwhile shows at the next `assign`; what this node is then goes with its next `join`.
    if (await this.#announce(false)) await this.#tell('changed');
    this.#ring();
  }

  #announce(first: boolean): Promise<boolean> {
    const { members, node, leaseTtlMs } = this.#options;
    return members.announce(
      { node, incarnation: this.incarnation, card: JSON.stringify(this.#info) },
      leaseTtlMs,
      first,
    );
  }

  async #lost(): Promise<SvcError> {
    const { node } = this.#options;
    const holder = await this.#holder();
    // The earlier life comes back when the store went back behind the start of this one.
    if (holder === undefined || holder === this.incarnation || holder === this.#earlier)
      return new SvcError('lease_lost', `the node lease of ${node} was ended or ran out`);
    return new SvcError('conflict', `another process runs as node ${node}: give each node an id and data of its own`);
  }

  /** The life that has the node lease. */
  async #holder(): Promise<string | undefined> {
    const { members, node } = this.#options;
    return (await members.members()).find((member) => member.node === node)?.incarnation;
  }

  async #tell(fleet: FleetHint['fleet']): Promise<void> {
    const word: FleetHint = { fleet, by: this.incarnation };
    try {
      await this.#options.members.signal(null, JSON.stringify(word));
    } catch (error) {
      this.#options.warn(`the other nodes were not told at once: ${fleet}`, error);
    }
  }

  #hear(text: string): void {
    const word = parseFleetHint(text);
    if (word === null || word.by === this.incarnation) return;
    this.#poller.readAll();
    this.#ring(this.#poller.spreadMs);
  }

  /** At most one ring a turn of the event loop: many words come together when a node goes. */
  #ring(delayMs = 0): void {
    if (this.#ringing) return;
    this.#ringing = true;
    this.#options.clock.after(delayMs, () => {
      this.#ringing = false;
      for (const wake of [...this.#wakes]) wake();
    });
  }
}

/** What a look at the fleet means to an operator: who should hold how much, and which pools nobody serves. */
function statusOf(fleet: Fleet): ClusterStatus {
  const counts = new Map<string, Record<string, number>>();
  for (const { node } of fleet.members) counts.set(node, {});
  for (const layout of fleet.pools) {
    for (const holder of fleet.holdersOf(layout)) {
      const count = counts.get(holder);
      if (count !== undefined) count[layout.pool] = (count[layout.pool] ?? 0) + 1;
    }
  }
  const members = fleet.members.map(({ node, incarnation, info }): MemberStatus => {
    // A pool that the member may serve is named even when it holds nothing of it.
    const pools = fleet.pools.map(({ pool }): [string, number] => [pool, counts.get(node)?.[pool] ?? 0]);
    const member = { node, incarnation, info };
    return {
      node_id: node,
      incarnation,
      info,
      partitions: Object.fromEntries(pools.filter(([pool]) => isServing(member, pool))),
    };
  });
  const pools = fleet.pools.map(({ pool, partitions }): PoolStatus => {
    const served = fleet.isServed(pool);
    return {
      pool,
      tags: tagsOfPool(pool),
      partitions,
      served: served ? partitions : 0,
      waiting_for: served ? null : waitingFor(pool),
    };
  });
  return { members, pools };
}

/** What the actors of a pool wait for when nobody serves it. */
function waitingFor(pool: string): WaitingFor {
  const tags = tagsOfPool(pool);
  if (tags.length > 0) return { tags, reason: `waiting for a node with tags ${tags.join(', ')}` };
  const role = pool === 'system' ? 'controller or hybrid' : 'worker or hybrid';
  return { tags, reason: `waiting for a node with role ${role}` };
}
