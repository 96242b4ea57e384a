import type { ActorStore } from '../actor-store.ts';
import type { Log } from '../address.ts';
import type { Clock } from '../clock.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { counted } from '../kit/counted.ts';
import type { LogServer } from './log-server.ts';

interface UnreadWatchParts {
  readonly store: Pick<ActorStore, 'backlog'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Age at which an entry in a log without running work is an alarm, milliseconds. */
  readonly unreadMs: number;
  readonly servers: () => readonly LogServer[];
  readonly isBusy: (server: LogServer) => boolean;
  /** Drops the log and acquires it again. */
  readonly heal: (server: LogServer) => void;
  readonly warn: (message: string, error: unknown) => void;
}

interface Waiting {
  /** The store's cursor while it does not move. */
  readonly cursor: number;
  /** When the entry was first seen, monotonic milliseconds: a wrong clock raises no alarm. */
  since: number;
  alarmed: boolean;
}

/**
 * Checks that entries in the logs held here are read. It asks the store and uses nothing that this process knows about
 * them, so it also finds unforeseen faults. It then raises an alarm and the log is acquired again.
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
    // While the store is unavailable nothing can be read, and that is reported elsewhere.
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
        const waits = `${counted(tail - cursor, 'entry', 'entries')} behind entry ${cursor} waited for more than ${Math.round(unreadMs / 1_000)} s`;
        warn(
          `alarm: this node holds ${log} and does not read it; the node acquires it again`,
          new SvcError('internal', waits),
        );
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
