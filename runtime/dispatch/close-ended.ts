import type { Commit, Lease } from '../actor-store.ts';
import { type Address, isSharedLog, type Partition } from '../address.ts';
import { isArchived } from '../define-actor.ts';
import type { EffectRow } from '../effect-ledger.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import { sleep } from '../kit/waits.ts';
import { type KeptActor, type KeptActors, keptIn, readOf, setListsBack } from '../projection/older-lists.ts';
import { RETRY_TIMER, timerId } from '../turns/actor-draft.ts';
import type { KernelParts } from './kernel-parts.ts';

/** A log whose lease was just taken. */
interface LookedThrough {
  readonly lease: Lease;
  readonly cursor: number;
  readonly partitions: Iterable<Partition>;
}

type CloseParts = Pick<KernelParts, 'store' | 'registry' | 'archive' | 'payloads' | 'views' | 'warn'>;

/** Most actors in one query of the archive, and in one removal. */
const AT_ONCE = 100;

/** Partitions of one log whose actors are looked at together: it may have hundreds, each with many actors. */
const PARTITIONS_AT_ONCE = 32;

/** Pause before the archive is asked again when it does not answer. */
const LOOK_AGAIN_MS = 500;

/** Failures of one log from one warning to the next: a node may wait with hundreds of logs for one archive. */
const WARN_EVERY = 20;

/** Actors of each partition whose documents have a later state than the store. */
type Ahead = Map<Partition, Set<Address>>;

const older = (closed: number): SvcError =>
  new SvcError('conflict', `the store lost its last writes; ${counted(closed, 'actor')} of this partition had ended`);

/**
 * Calls `closeEnded` until the archive answers or `isOver`. Returns how many actors of each partition the documents have in a
 * later state; null when the lease is lost.
 */
export async function closeEndedWithRetry(
  parts: CloseParts & Pick<KernelParts, 'clock'>,
  log: LookedThrough,
  isOver: () => boolean,
): Promise<ReadonlyMap<Partition, number> | null> {
  const { clock, warn } = parts;
  const ahead: Ahead = new Map();
  for (let failures = 0; !isOver(); failures += 1) {
    try {
      const closed = await closeEnded(parts, log, ahead);
      if (closed !== null && closed > 0)
        warn(
          `${log.lease.log} returned to an older state: actors that the archive has as ended were closed`,
          older(closed),
        );
      return closed === null ? null : new Map([...ahead].map(([partition, actors]) => [partition, actors.size]));
    } catch (thrown) {
      if (failures % WARN_EVERY === 0)
        warn(`${log.lease.log} is not served until the archive answers`, toSvcError(thrown));
      await sleep(clock, LOOK_AGAIN_MS);
    }
  }
  return new Map();
}

/**
 * Checks partitions that may be older than the archive, because their store was restored or lost its last writes. It
 * closes the actors that the archive knows as ended: it cancels their effects and timers and removes their records, so
 * that nothing of them runs again. For the other actors it updates the lists from their states. Returns how many actors
 * were closed, or null when the lease is lost. Repeating it is safe.
 */
async function closeEnded(
  parts: CloseParts,
  { lease, cursor, partitions }: LookedThrough,
  ahead: Ahead,
): Promise<number | null> {
  const all = [...partitions];
  let closed = 0;
  for (let at = 0; at < all.length; at += PARTITIONS_AT_ONCE) {
    const looked = await Promise.all(all.slice(at, at + PARTITIONS_AT_ONCE).map((one) => lookedIn(parts, one)));
    const ended = await endedIn(parts, looked, ahead);
    for (const one of looked) {
      const count = await close(parts, { lease, cursor }, one, ended);
      if (count === null) return null;
      closed += count;
    }
  }
  return (await parts.store.vouch(lease)) ? closed : null;
}

/** Records and addresses that the store has of one partition. */
interface Looked {
  readonly partition: Partition;
  readonly open: readonly EffectRow[];
  /** Actors that have a list or an archive. */
  readonly addresses: readonly Address[];
}

async function lookedIn({ store, registry }: CloseParts, partition: Partition): Promise<Looked> {
  const open = await store.openEffects(partition);
  const found = new Set([...(await store.recorded(partition)), ...open.map(({ address }) => address)]);
  const addresses = [...found].filter((address) => {
    const definition = registry.definitionOf(address);
    return definition !== undefined && (isArchived(definition) || definition.view !== undefined);
  });
  return { partition, open, addresses };
}

/** The ended actors of these partitions. One query of the documents covers many actors of any partition. */
async function endedIn(
  parts: CloseParts,
  looked: readonly Looked[],
  ahead: Ahead,
): Promise<ReadonlyMap<Address, KeptActor>> {
  const ended = new Map<Address, KeptActor>();
  const all = looked.flatMap(({ partition, addresses }) => addresses.map((address) => ({ partition, address })));
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const some = Map.groupBy(all.slice(at, at + AT_ONCE), ({ partition }) => partition);
    const loaded = [...some].map(([partition, ones]) =>
      keptIn(
        parts,
        partition,
        ones.map(({ address }) => address),
      ),
    );
    const kept: KeptActors = new Map((await Promise.all(loaded)).flatMap((one) => [...one]));
    const over = await endedAmong(parts, kept);
    for (const address of over.keys()) ended.set(address, kept.get(address) ?? null);
    const running = new Map([...kept].filter(([address]) => !over.has(address)));
    const behind = new Set(await setListsBack(parts.views, running, parts.warn));
    for (const [address, revision] of over) if (revisionOf(kept.get(address)) < revision) behind.add(address);
    for (const [partition, ones] of some) {
      const actors = ones.map(({ address }) => address).filter((address) => behind.has(address));
      if (actors.length > 0) ahead.set(partition, new Set([...(ahead.get(partition) ?? []), ...actors]));
    }
  }
  return ended;
}

/** Closes the ended actors of one partition. Returns how many there were, or null when the lease is lost. */
async function close(
  { store }: CloseParts,
  { lease, cursor }: Pick<LookedThrough, 'lease' | 'cursor'>,
  { partition, open, addresses }: Looked,
  ended: ReadonlyMap<Address, KeptActor>,
): Promise<number | null> {
  const removed = addresses.filter((address) => ended.has(address));
  const effects = open.filter(({ address }) => ended.has(address)).map(({ id }) => id);
  const timers = removed.flatMap((address) => timersOf(address, ended.get(address)));
  if (effects.length + timers.length > 0) {
    const outcome = await store.commit(cancelling(lease, cursor, partition, effects, timers), 0);
    if (outcome.kind !== 'committed') return null;
  }
  for (let at = 0; at < removed.length; at += AT_ONCE) {
    if (!(await store.forget(lease, cursor, removed.slice(at, at + AT_ONCE), partition))) return null;
  }
  return removed.length;
}

/** The revision of a record. An actor without a record counts as the latest, since it lost nothing. */
const revisionOf = (kept: KeptActor | undefined): number => readOf(kept)?.record.revision ?? Number.POSITIVE_INFINITY;

/** The actors that the archive has as ended, with the revision at which they ended. */
async function endedAmong({ registry, archive }: CloseParts, kept: KeptActors): Promise<ReadonlyMap<Address, number>> {
  const asked = [...kept.keys()].filter((address) => {
    const definition = registry.definitionOf(address);
    return definition !== undefined && isArchived(definition);
  });
  const archived = asked.length === 0 ? new Map<Address, number>() : await archive.revisions(asked);
  const ended = new Map<Address, number>();
  for (const address of asked) {
    const known = archived.get(address);
    if (known === undefined) continue;
    const record = kept.get(address);
    if (record === 'later') throw new SvcError('unavailable', `the record of ${address} cannot be read now`);
    // A later record belongs to an ended actor that handled a message since: it is archived again by itself.
    if ((readOf(record)?.record.revision ?? 0) <= known) ended.set(address, known);
  }
  return ended;
}

const timersOf = (address: Address, kept: KeptActor | undefined): readonly string[] =>
  [...Object.keys(readOf(kept)?.record.timers ?? {}), RETRY_TIMER].map((name) => timerId(address, name));

function cancelling(
  lease: Lease,
  cursor: number,
  partition: Partition,
  effectsCancelled: readonly string[],
  timersCleared: readonly string[],
): Commit {
  const nothing = { records: [], events: [], sends: [], timersSet: [], effectsOpened: [] };
  const changes = { ...nothing, effectsCancelled, timersCleared };
  const own = isSharedLog(lease.log)
    ? { ...nothing, effectsCancelled: [], timersCleared: [], partitions: [{ partition, ...changes }] }
    : changes;
  return { lease, after: cursor, upTo: cursor, ...own, journal: null, replies: [], handled: [] };
}

/**
 * Runs the work on one log strictly one after another: batches, removals and hand-overs never overlap. Batches may
 * follow each other for a long time, so work to be done between two of them does not wait for the last one.
 */
export class LogOrder {
  #last: Promise<void> = Promise.resolve();
  #running = 0;
  #between: (() => Promise<void>)[] = [];

  /** Whether no work runs or waits. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Runs work after all work requested before has ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    const mine = this.#last.then(work);
    const ended = (): void => {
      this.#running -= 1;
    };
    this.#last = mine.then(ended, ended);
    return mine;
  }

  /** Runs work before the next batch (`runBetween`), or when no other work runs. */
  between(work: () => Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#between.push(() => work().then(resolve, reject));
    this.run(() => this.runBetween()).catch(reject);
    return promise;
  }

  /** Runs the work that waits for a gap between two batches. The runner of batches calls it. */
  async runBetween(): Promise<void> {
    for (const work of this.#between.splice(0)) await work();
  }
}
