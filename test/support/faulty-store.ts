import { randomUUID } from 'node:crypto';
import type { ActorStore, Commit, CommitOutcome, Lease } from '../../runtime/actor-store.ts';
import { type Address, isSharedLog, type Partition } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { SharedLogs } from '../../runtime/leases.ts';
import { SeededRandom } from '../kill/random.ts';

/** Rate of each fault in the calls of a method, 0 to 1. */
export interface FaultRates {
  /** The call is executed, but the caller gets `unavailable`. */
  readonly executedThenTimedOut?: number;
  /** The call is not executed; the caller gets `unavailable`. */
  readonly notExecuted?: number;
  /** This call and the next few calls of all methods get `unavailable`. */
  readonly disconnected?: number;
  /** For `commit`: another process of the same node takes the lease just before. */
  readonly leaseLost?: number;
}

/** Logs that partitions share fail as one method. */
type Call = Exclude<keyof ActorStore, 'sharedLogs' | 'isInProcess' | 'onReturn' | 'unlock'>;

type Method = {
  [K in Call]: ReturnType<ActorStore[K]> extends Promise<unknown> ? K : never;
}[Call];

export interface Faults {
  readonly seed: number;
  /** Rates of the other methods. */
  readonly otherwise?: FaultRates;
  readonly methods?: Partial<Record<Method | 'sharedLogs', FaultRates>>;
  /** How many calls a lost connection fails. */
  readonly disconnectedCalls?: number;
  /** Called with each commit that was written, also when its caller sees a fault. */
  readonly committed?: (commit: Commit, outcome: Extract<CommitOutcome, { kind: 'committed' }>) => void;
}

/** Repeatable random numbers in [0, 1). */
export function seeded(seed: number): () => number {
  const random = new SeededRandom(seed);
  return () => random.fraction();
}

/** An actor store whose calls fail as a network makes them fail. The faults follow from the seed. */
export class FaultyStore implements ActorStore {
  readonly #inner: ActorStore;
  readonly #faults: Faults;
  readonly #random: () => number;
  #downFor = 0;
  #healed = false;
  /** Injected faults by kind. */
  readonly struck: Record<keyof FaultRates, number> = {
    executedThenTimedOut: 0,
    notExecuted: 0,
    disconnected: 0,
    leaseLost: 0,
  };

  constructor(inner: ActorStore, faults: Faults) {
    this.#inner = inner;
    this.#faults = faults;
    this.#random = seeded(faults.seed);
  }

  /** Stops the faults. */
  heal(): void {
    this.#healed = true;
  }

  get sharedLogs(): SharedLogs | undefined {
    const logs = this.#inner.sharedLogs;
    if (logs === undefined) return undefined;
    return {
      mayBeMade: () => logs.mayBeMade(),
      tagOf: (partition) => logs.tagOf(partition),
      make: (...a) => this.#through('sharedLogs', () => logs.make(...a)),
      join: (...a) => this.#through('sharedLogs', () => logs.join(...a)),
      close: (...a) => this.#through('sharedLogs', () => logs.close(...a)),
      adopt: (...a) => this.#through('sharedLogs', () => logs.adopt(...a)),
      remove: (...a) => this.#through('sharedLogs', () => logs.remove(...a)),
      forgetEnded: (...a) => this.#through('sharedLogs', () => logs.forgetEnded(...a)),
      postponed: (...a) => this.#through('sharedLogs', () => logs.postponed(...a)),
      list: () => this.#through('sharedLogs', () => logs.list()),
    };
  }

  open = () => this.#inner.open();
  close = () => this.#inner.close();
  onReply: ActorStore['onReply'] = (...listener) => this.#inner.onReply(...listener);
  onSignal: ActorStore['onSignal'] = (node, receive) => this.#inner.onSignal(node, receive);
  onWake: ActorStore['onWake'] = (node, ring) => this.#inner.onWake(node, ring);
  onReturn: NonNullable<ActorStore['onReturn']> = (back) => this.#inner.onReturn?.(back) ?? (() => {});
  onEffectCancelled: ActorStore['onEffectCancelled'] = (stop) => this.#inner.onEffectCancelled(stop);
  onEvents: ActorStore['onEvents'] = (address, wake) => this.#inner.onEvents(address, wake);

  now: ActorStore['now'] = (...a) => this.#through('now', () => this.#inner.now(...a));
  definePool: ActorStore['definePool'] = (...a) => this.#through('definePool', () => this.#inner.definePool(...a));
  facts: ActorStore['facts'] = () => this.#through('facts', () => this.#inner.facts());
  keepFact: ActorStore['keepFact'] = (...a) => this.#through('keepFact', () => this.#inner.keepFact(...a));
  refuseOlderPrograms: ActorStore['refuseOlderPrograms'] = () =>
    this.#through('refuseOlderPrograms', () => this.#inner.refuseOlderPrograms());
  append: ActorStore['append'] = (...a) => this.#through('append', () => this.#inner.append(...a));
  recallReply: ActorStore['recallReply'] = (...a) => this.#through('recallReply', () => this.#inner.recallReply(...a));
  depth: ActorStore['depth'] = (...a) => this.#through('depth', () => this.#inner.depth(...a));
  backlog: ActorStore['backlog'] = (...a) => this.#through('backlog', () => this.#inner.backlog(...a));
  unread: ActorStore['unread'] = (...a) => this.#through('unread', () => this.#inner.unread(...a));
  acquire: ActorStore['acquire'] = (...a) => this.#through('acquire', () => this.#inner.acquire(...a));
  renew: ActorStore['renew'] = (...a) => this.#through('renew', () => this.#inner.renew(...a));
  renewedAt: ActorStore['renewedAt'] = (lease) => this.#inner.renewedAt(lease);
  cameBackAt: ActorStore['cameBackAt'] = (...a) => this.#through('cameBackAt', () => this.#inner.cameBackAt(...a));
  freeze: ActorStore['freeze'] = (ms) => this.#inner.freeze(ms);
  vouch: ActorStore['vouch'] = (...a) => this.#through('vouch', () => this.#inner.vouch(...a));
  actorCount: ActorStore['actorCount'] = (...a) => this.#through('actorCount', () => this.#inner.actorCount(...a));
  recorded: ActorStore['recorded'] = (...a) => this.#through('recorded', () => this.#inner.recorded(...a));
  isKnown: ActorStore['isKnown'] = (...a) => this.#through('isKnown', () => this.#inner.isKnown(...a));
  release: ActorStore['release'] = (...a) => this.#through('release', () => this.#inner.release(...a));
  announce: ActorStore['announce'] = (...a) => this.#through('announce', () => this.#inner.announce(...a));
  readMembers: ActorStore['readMembers'] = (...a) => this.#through('readMembers', () => this.#inner.readMembers(...a));
  members: ActorStore['members'] = () => this.#through('members', () => this.#inner.members());
  retire: ActorStore['retire'] = (...a) => this.#through('retire', () => this.#inner.retire(...a));
  pools: ActorStore['pools'] = () => this.#through('pools', () => this.#inner.pools());
  signal: ActorStore['signal'] = (...a) => this.#through('signal', () => this.#inner.signal(...a));
  placed: ActorStore['placed'] = (...a) => this.#through('placed', () => this.#inner.placed(...a));
  poll: ActorStore['poll'] = (...a) => this.#through('poll', () => this.#inner.poll(...a));
  load: ActorStore['load'] = (...a) => this.#through('load', () => this.#inner.load(...a));
  fireTimers: ActorStore['fireTimers'] = (...a) => this.#through('fireTimers', () => this.#inner.fireTimers(...a));
  timersDue: ActorStore['timersDue'] = (...a) => this.#through('timersDue', () => this.#inner.timersDue(...a));
  flushOutbox: ActorStore['flushOutbox'] = (...a) => this.#through('flushOutbox', () => this.#inner.flushOutbox(...a));
  forget: ActorStore['forget'] = (...a) => this.#through('forget', () => this.#inner.forget(...a));
  openEffects: ActorStore['openEffects'] = (...a) => this.#through('openEffects', () => this.#inner.openEffects(...a));
  effectRows: ActorStore['effectRows'] = (...a) => this.#through('effectRows', () => this.#inner.effectRows(...a));
  effectBodies: ActorStore['effectBodies'] = (...a) =>
    this.#through('effectBodies', () => this.#inner.effectBodies(...a));
  claimEffect: ActorStore['claimEffect'] = (...a) => this.#through('claimEffect', () => this.#inner.claimEffect(...a));
  keepEffect: ActorStore['keepEffect'] = (...a) => this.#through('keepEffect', () => this.#inner.keepEffect(...a));
  progressEffect: ActorStore['progressEffect'] = (...a) =>
    this.#through('progressEffect', () => this.#inner.progressEffect(...a));
  settleEffect: ActorStore['settleEffect'] = (...a) =>
    this.#through('settleEffect', () => this.#inner.settleEffect(...a));
  reopenEffect: ActorStore['reopenEffect'] = (...a) =>
    this.#through('reopenEffect', () => this.#inner.reopenEffect(...a));
  readEvents: ActorStore['readEvents'] = (...a) => this.#through('readEvents', () => this.#inner.readEvents(...a));
  readJournal: ActorStore['readJournal'] = (...a) => this.#through('readJournal', () => this.#inner.readJournal(...a));
  trimJournal: ActorStore['trimJournal'] = (...a) => this.#through('trimJournal', () => this.#inner.trimJournal(...a));

  place(home: Partition, address: Address, partition: Partition): Promise<Partition> {
    return this.#through('place', () => this.#inner.place(home, address, partition));
  }

  locate(home: Partition, address: Address): Promise<Partition | null> {
    return this.#through('locate', () => this.#inner.locate(home, address));
  }

  unplace(home: Partition, address: Address, partition: Partition): Promise<boolean> {
    return this.#through('unplace', () => this.#inner.unplace(home, address, partition));
  }

  commit(commit: Commit, readAhead: number): Promise<CommitOutcome> {
    return this.#through('commit', async () => {
      if (this.#strikes(this.#ratesOf('commit').leaseLost)) await this.#loseLease(commit.lease);
      const outcome = await this.#inner.commit(commit, readAhead);
      if (outcome.kind === 'committed') this.#faults.committed?.(commit, outcome);
      return outcome;
    });
  }

  /** The same node gets the lease again, as it does after a restart. */
  async #loseLease(lease: Lease): Promise<void> {
    this.struck.leaseLost += 1;
    const { log, node } = lease;
    if (isSharedLog(log)) {
      await this.#inner.sharedLogs?.adopt(log, node, randomUUID(), 60_000);
      return;
    }
    const outcome = await this.#inner.acquire(log, node, randomUUID(), 60_000);
    if (outcome.kind === 'granted') await this.#inner.release(outcome.lease);
  }

  async #through<T>(method: Method | 'sharedLogs', call: () => Promise<T>): Promise<T> {
    const rates = this.#ratesOf(method);
    if (this.#strikes(rates.disconnected)) this.#downFor = this.#faults.disconnectedCalls ?? 5;
    if (this.#downFor > 0 && !this.#healed) {
      this.#downFor -= 1;
      throw this.#fault('disconnected', method);
    }
    if (this.#strikes(rates.notExecuted)) throw this.#fault('notExecuted', method);
    const value = await call();
    if (this.#strikes(rates.executedThenTimedOut)) throw this.#fault('executedThenTimedOut', method);
    return value;
  }

  #ratesOf(method: Method | 'sharedLogs'): FaultRates {
    return this.#faults.methods?.[method] ?? this.#faults.otherwise ?? {};
  }

  #strikes(rate: number | undefined): boolean {
    return rate !== undefined && rate > 0 && !this.#healed && this.#random() < rate;
  }

  #fault(kind: keyof FaultRates, method: Method | 'sharedLogs'): SvcError {
    this.struck[kind] += 1;
    return new SvcError('unavailable', `fault injected into ${method}: ${kind}`);
  }
}
