import { type Partition, poolOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Unsubscribe } from '../../runtime/leases.ts';
import type { Assignment, Placement, PlacementChange } from '../../runtime/locator.ts';
import type { Members } from '../../runtime/members.ts';
import type { Random } from '../../runtime/random.ts';
import type { ClusterStatus, MemberInfo } from '../../usecases/ports/cluster.ts';
import type { Fleet, FleetMember } from './fleet.ts';
import { statusOf } from './fleet-status.ts';
import { type FleetHint, MembershipPoller, parseFleetHint } from './membership-poller.ts';

/** Every node defines its pools before it joins, so a store without pools has lost its data. */
const EMPTIED =
  'the store has no pools: it was emptied while this node was running, and its data is lost; restart the nodes';

/** Most incarnations that announced their leave and are remembered. */
const MOST_LEFT = 1_000;

/** Info of this node; `drain` sets whether it drains. */
export type OwnMemberInfo = Omit<MemberInfo, 'draining'>;

interface FleetPlacementOptions {
  readonly members: Members;
  /** Node id, the same over restarts. */
  readonly node: string;
  readonly info: OwnMemberInfo;
  readonly leaseTtlMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Called for hints that could not be sent; the other nodes then see the change at their next poll. */
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * The kernel's placement in a fleet (P1, P2): the node lease, the live members and the assignment. There is no leader: each node
 * computes the same assignment from the same members, whose leases expire by the store's clock.
 */
export class FleetPlacement implements Placement {
  readonly incarnation: string;
  readonly #options: FleetPlacementOptions;
  #info: MemberInfo;
  #joined = false;
  /** The incarnation of this node that held the node lease before. */
  #earlier: string | null = null;
  readonly #poller: MembershipPoller;
  readonly #wakes = new Set<(change: PlacementChange) => void>();
  readonly #watchers = new Set<(fleet: Fleet, before: Fleet | null) => void>();
  readonly #servedWatchers = new Set<(partition: Partition) => void>();
  /** Incarnations that announced their leave. */
  readonly #left = new Set<string>();
  #unsubscribe: Unsubscribe | null = null;
  /** What the planned wake-up is for; null when none is planned. */
  #waking: PlacementChange | null = null;

  constructor(options: FleetPlacementOptions) {
    this.#options = options;
    this.#info = { ...options.info, draining: false };
    this.incarnation = options.random.uuid();
    this.#poller = new MembershipPoller({
      ...options,
      onSeen: (fleet, before) => {
        for (const watch of this.#watchers) watch(fleet, before);
      },
      onSurprise: () => this.#wake(),
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
   * Throws `conflict` when another process runs as this node: this one must stop for good; `lease_lost` when the node lease was
   * ended or has expired: drop all partitions and join again; `unavailable` when the store does not answer, or was emptied.
   */
  async assign(): Promise<Assignment> {
    if (!(await this.#announce(false))) throw await this.#lost();
    const fleet = await this.#poller.poll();
    if (fleet.pools.length === 0) throw new SvcError('unavailable', EMPTIED);
    return fleet.assignmentOf(this.#options.node);
  }

  isLive(holder: string): boolean {
    // Before the first poll all nodes count as alive.
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

  /** See `Fleet.scarceIn`. According to the last read of the members. */
  async scarceIn(pool: string, needs: readonly string[]): Promise<readonly string[]> {
    return (this.#poller.fleet ?? (await this.#poller.fresh())).scarceIn(pool, needs);
  }

  /** Capabilities of the members besides their tags, according to the last read of them. */
  get capabilities(): readonly string[] {
    return this.#poller.fleet?.capabilities ?? [];
  }

  async isServed(pool: string): Promise<boolean> {
    if (this.#poller.fleet?.isServed(pool) === true) return true;
    return (await this.#poller.fresh()).isServed(pool);
  }

  onChange(wake: (change: PlacementChange) => void): Unsubscribe {
    this.#wakes.add(wake);
    this.#unsubscribe ??= this.#options.members.onSignal(this.#options.node, (text) => this.#onHint(text));
    return () => {
      this.#wakes.delete(wake);
      if (this.#wakes.size > 0) return;
      this.#unsubscribe?.();
      this.#unsubscribe = null;
    };
  }

  freed(): Promise<void> {
    return this.#tell('freed');
  }

  async poolDefined(): Promise<void> {
    this.#wake();
    await this.#tell('pooled');
  }

  /** Changes the tags, and with them the served pools. Throws `unavailable`; the next renewal publishes them then. */
  setTags(tags: readonly string[]): Promise<void> {
    return this.changeInfo({ tags: [...tags] });
  }

  /** For values known only after the start, such as a port that the system picked. Throws `unavailable` as above. */
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

  /** Ends the node lease of a dead incarnation, and hints it to the other nodes. */
  async declareDead(node: string, incarnation: string): Promise<void> {
    if (incarnation === this.incarnation) return;
    if (!(await this.#options.members.retire(node, incarnation))) return;
    this.#wake();
    await this.#tell('retired');
  }

  /** Calls back with the live members: immediately when known, and after each change. */
  onMembers(watch: (members: readonly FleetMember[]) => void): Unsubscribe {
    const { fleet } = this.#poller;
    if (fleet !== null) watch(fleet.members);
    return this.onFleet(({ members }) => watch(members));
  }

  /** Calls back after each change of the members or pools. */
  onFleet(watch: (fleet: Fleet, before: Fleet | null) => void): Unsubscribe {
    this.#watchers.add(watch);
    return () => this.#watchers.delete(watch);
  }

  served(partition: Partition): void {
    for (const watch of this.#servedWatchers) watch(partition);
  }

  /** Calls back when this node begins to serve a partition. */
  onServed(watch: (partition: Partition) => void): Unsubscribe {
    this.#servedWatchers.add(watch);
    return () => this.#servedWatchers.delete(watch);
  }

  /** Whether an incarnation announced lately that it leaves. Such a hint may be lost. */
  hasLeft = (incarnation: string): boolean => this.#left.has(incarnation);

  /** The view of operators; polls the members. Throws `unavailable`. */
  async view(): Promise<ClusterStatus> {
    return statusOf(await this.#poller.pollUnrequested());
  }

  /** The fleet now; polls the members. Throws `unavailable`. */
  current(): Promise<Fleet> {
    return this.#poller.pollUnrequested();
  }

  /** The member that should own a partition; null without an eligible one. Polls the members. Throws `unavailable`. */
  async holderOf(partition: Partition): Promise<string | null> {
    const fleet = await this.#poller.pollUnrequested();
    const layout = fleet.pools.find(({ pool }) => pool === poolOf(partition));
    const holder = layout === undefined ? '' : fleet.holdersOf(layout)[Number(partition.slice(layout.pool.length + 1))];
    return holder === undefined || holder === '' ? null : holder;
  }

  async #become(info: MemberInfo): Promise<void> {
    this.#info = info;
    if (!this.#joined) return;
    // A lost lease is noticed by the next `assign`; the next `join` publishes the info then.
    if (await this.#announce(false)) await this.#tell('changed');
    this.#wake();
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
    // A restored store may show the earlier incarnation again.
    if (holder === undefined || holder === this.incarnation || holder === this.#earlier)
      return new SvcError('lease_lost', `the node lease of ${node} was ended or has expired`);
    return new SvcError('conflict', `another process runs as node ${node}: give each node an id and data of its own`);
  }

  /** The incarnation that holds the node lease. */
  async #holder(): Promise<string | undefined> {
    const { members, node } = this.#options;
    return (await members.members()).find((member) => member.node === node)?.incarnation;
  }

  async #tell(fleet: FleetHint['fleet']): Promise<void> {
    const hint: FleetHint = { fleet, by: this.incarnation, versioned: true };
    try {
      await this.#options.members.signal(null, JSON.stringify(hint));
    } catch (error) {
      this.#options.warn(`the hint "${fleet}" could not be sent; other nodes see the change at their next poll`, error);
    }
  }

  #onHint(text: string): void {
    const hint = parseFleetHint(text);
    if (hint === null || hint.by === this.incarnation) return;
    if (hint.fleet === 'left') this.#noteLeft(hint.by);
    if (hint.versioned !== true) this.#poller.readAll();
    this.#wake(hint.fleet === 'freed' ? 'freed' : 'members', this.#poller.spreadMs);
  }

  #noteLeft(incarnation: string): void {
    this.#left.add(incarnation);
    const [oldest] = this.#left;
    if (oldest !== undefined && this.#left.size > MOST_LEFT) this.#left.delete(oldest);
  }

  /** Wakes the kernel at most once in a turn of the event loop: many hints arrive together when a node leaves. */
  #wake(change: PlacementChange = 'members', delayMs = 0): void {
    const isPlanned = this.#waking !== null;
    if (this.#waking !== 'members') this.#waking = change;
    if (isPlanned) return;
    this.#options.clock.after(delayMs, () => {
      const planned = this.#waking ?? change;
      this.#waking = null;
      for (const wake of [...this.#wakes]) wake(planned);
    });
  }
}
