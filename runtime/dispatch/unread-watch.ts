import type { ActorStore } from '../actor-store.ts';
import type { Address, Log } from '../address.ts';
import type { Clock } from '../clock.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { positionOf } from '../journal-position.ts';
import type { LogServer } from './log-server.ts';

interface UnreadWatchParts {
  readonly store: Pick<ActorStore, 'backlog'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** An entry that waits longer in a log that nothing works at is an alarm. */
  readonly unreadMs: number;
  readonly servers: () => readonly LogServer[];
  readonly isBusy: (server: LogServer) => boolean;
  /** Loses the log and takes it anew. */
  readonly heal: (server: LogServer) => void;
  readonly warn: (message: string, error: unknown) => void;
}

interface Waiting {
  /** The store's cursor while nothing moved. */
  readonly cursor: number;
  /** Seen since, monotonic milliseconds: no clock that is wrong raises an alarm. */
  since: number;
  alarmed: boolean;
}

/**
 * Sees that what is in the logs held here is read. It asks the store and trusts nothing that this
 * process knows of them, so it also finds what no one has thought of: an alarm, and the log is taken anew.
 */
export class UnreadWatch {
  readonly #parts: UnreadWatchParts;
  readonly #waiting = new Map<Log, Waiting>();

  constructor(parts: UnreadWatchParts) {
    this.#parts = parts;
  }

  /** Logs with an alarm. */
  get alarms(): Log[] {
    return [...this.#waiting].flatMap(([log, { alarmed }]) => (alarmed ? [log] : []));
  }

  async look(): Promise<void> {
    const servers = this.#parts.servers();
    const held = new Set(servers.map(({ lease }) => lease.log));
    for (const log of this.#waiting.keys()) if (!held.has(log)) this.#end(log, 'is not held here');
    const looks = await Promise.allSettled(servers.map((server) => this.#lookAt(server)));
    const failed = looks.find((look) => look.status === 'rejected');
    // While the store is away nothing can be read, and that is said elsewhere.
    if (failed !== undefined && toSvcError(failed.reason).code !== 'unavailable') throw failed.reason;
  }

  async #lookAt(server: LogServer): Promise<void> {
    const { store, clock, unreadMs, isBusy, heal, warn } = this.#parts;
    const { log } = server.lease;
    const { cursor, tail } = await store.backlog(log);
    if (server.lost) return;
    const known = this.#waiting.get(log);
    if (tail <= cursor || isBusy(server) || (known !== undefined && known.cursor !== cursor)) {
      this.#end(log, 'is read again');
      return;
    }
    const now = clock.monotonic();
    if (known === undefined) this.#waiting.set(log, { cursor, since: now, alarmed: false });
    else if (now - known.since >= unreadMs) {
      if (!known.alarmed) {
        const waits = `${tail - cursor} entries behind ${cursor} wait for more than ${Math.round(unreadMs / 1_000)} s`;
        warn(`alarm: ${log} is held and not read, it is taken anew`, new SvcError('internal', waits));
      }
      known.alarmed = true;
      known.since = now;
      heal(server);
    }
  }

  #end(log: Log, how: string): void {
    const alarmed = this.#waiting.get(log)?.alarmed === true;
    this.#waiting.delete(log);
    if (alarmed) this.#parts.warn(`the alarm is over: ${log} ${how}`, undefined);
  }
}

/** Actors of one partition that are remembered with their last commit: more than a second or two of commits touch. */
const REMEMBERED = 512;

/**
 * How far a partition had come when this node last served it, and which actors the last commits wrote. A store that
 * failed over to a replica that was behind, or lost its last second, gives the lease out again with an earlier cursor.
 */
export class Progress {
  #cursor: number;
  #beside: number;
  /** Position after the last message each actor handled, longest ago first. */
  readonly #handled = new Map<Address, number>();

  constructor(cursor: number, beside: number) {
    this.#cursor = cursor;
    this.#beside = beside;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Results handled beside the mailbox since the cursor stands there. */
  get beside(): number {
    return this.#beside;
  }

  /** Of the last commit's row in the journal. */
  get position(): number {
    return positionOf(this.#cursor, this.#beside);
  }

  moved(cursor: number, beside: number, actors: Iterable<Address>): void {
    this.#cursor = cursor;
    this.#beside = beside;
    for (const actor of actors) {
      this.#handled.delete(actor);
      this.#handled.set(actor, this.position);
    }
    for (const actor of this.#handled.keys()) {
      if (this.#handled.size <= REMEMBERED) break;
      this.#handled.delete(actor);
    }
  }

  /** How many actors handled something behind a position; as many at least when it was more than is remembered. */
  actorsBehind(position: number): number {
    let count = 0;
    for (const last of this.#handled.values()) if (last > position) count += 1;
    return count;
  }
}
