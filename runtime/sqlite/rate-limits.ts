import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type Clock, systemClock } from '../clock.ts';
import { SvcError } from '../errors.ts';
import { checkTake, type RateCount, type RateLimit, type RateLimits } from '../rate-limits.ts';
import { integer, keepLog, startFile, storeError } from './database.ts';

/** Expired counters are removed each time this many calls have counted. */
const SWEEP_EVERY = 1_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS counters (
    tenant TEXT NOT NULL, key TEXT NOT NULL, window_ms INTEGER NOT NULL, window INTEGER NOT NULL,
    count INTEGER NOT NULL, ends_at INTEGER NOT NULL, PRIMARY KEY (tenant, key, window_ms)
  ) WITHOUT ROWID;
`;

interface Open {
  readonly database: DatabaseSync;
  readonly read: StatementSync;
  readonly write: StatementSync;
  readonly sweep: StatementSync;
}

interface Counter {
  readonly bound: RateLimit;
  readonly window: number;
  readonly count: number;
  readonly endsAt: number;
}

/**
 * Counters of an embedded node in `rates.db` of the data directory. They survive a crash of the process. The file is
 * separate because it needs no fsync for each call, unlike actors: a power failure may lose the last counts.
 */
export class SqliteRateLimits implements RateLimits {
  readonly #directory: string;
  readonly #clock: Clock;
  #open: Open | undefined;
  #calls = 0;

  constructor(options: { readonly directory: string; readonly clock?: Clock }) {
    this.#directory = options.directory;
    this.#clock = options.clock ?? systemClock;
  }

  async open(): Promise<void> {
    if (this.#open !== undefined) return;
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    try {
      this.#open = openCounters(join(this.#directory, 'rates.db'));
    } catch (error) {
      throw storeError(error, 'limits');
    }
  }

  async take(tenant: string, limits: readonly RateLimit[], units = 1): ReturnType<RateLimits['take']> {
    checkTake(tenant, limits, units);
    if (this.#open === undefined)
      throw new SvcError('unavailable', 'the rate limits are not open', { store: 'limits' });
    try {
      return this.#take(this.#open, tenant, limits, units);
    } catch (error) {
      throw storeError(error, 'limits');
    }
  }

  async read(tenant: string, limits: readonly RateLimit[]): Promise<readonly RateCount[]> {
    checkTake(tenant, limits, 0);
    const open = this.#open;
    if (open === undefined) throw new SvcError('unavailable', 'the rate limits are not open', { store: 'limits' });
    try {
      const now = this.#clock.now();
      const counters = limits.map((bound) => counterOf(open, tenant, bound, now));
      return counters.map(({ count, endsAt }) => ({ used: count, resetsAt: endsAt }));
    } catch (error) {
      throw storeError(error, 'limits');
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    open?.database.close();
  }

  /** Takes units synchronously. The data directory belongs to one process, so no other call counts in between. */
  #take(open: Open, tenant: string, limits: readonly RateLimit[], units: number) {
    const now = this.#clock.now();
    const counters = limits.map((bound) => counterOf(open, tenant, bound, now));
    const refusing = counters
      .filter(({ bound, count }) => count + units > bound.limit)
      .sort((a, b) => b.endsAt - a.endsAt)[0];
    // When several refuse, the one whose window ends last says when to come back.
    if (refusing !== undefined)
      return { taken: false as const, broken: refusing.bound, retryAfterMs: refusing.endsAt - now };
    open.database.exec('BEGIN');
    try {
      for (const { bound, window, count, endsAt } of counters)
        open.write.run(tenant, bound.key, bound.windowMs, window, count + units, endsAt);
      this.#calls += 1;
      if (this.#calls % SWEEP_EVERY === 0) open.sweep.run(now);
      open.database.exec('COMMIT');
    } catch (error) {
      if (open.database.isTransaction) open.database.exec('ROLLBACK');
      throw error;
    }
    return { taken: true as const };
  }
}

function openCounters(path: string): Open {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    startFile(database);
    keepLog(database);
    database.exec(`PRAGMA synchronous = NORMAL; ${SCHEMA}`);
    return {
      database,
      read: database.prepare('SELECT window, count FROM counters WHERE tenant = ? AND key = ? AND window_ms = ?'),
      write: database.prepare('INSERT OR REPLACE INTO counters VALUES (?, ?, ?, ?, ?, ?)'),
      sweep: database.prepare('DELETE FROM counters WHERE ends_at <= ?'),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * The current window. When the clock was set back a little, a count of the next window stays in force: starting again
 * would allow that window to be filled twice.
 */
function counterOf({ read }: Open, tenant: string, bound: RateLimit, now: number): Counter {
  const current = Math.floor(now / bound.windowMs);
  const row = read.get(tenant, bound.key, bound.windowMs);
  const stored = row === undefined ? undefined : integer(row, 'window');
  const counts = row !== undefined && (stored === current || stored === current + 1);
  const window = counts && stored !== undefined ? stored : current;
  return { bound, window, count: counts ? integer(row, 'count') : 0, endsAt: (window + 1) * bound.windowMs };
}
