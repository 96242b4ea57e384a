import type { DatabaseSync } from 'node:sqlite';
import { SvcError } from '../errors.ts';
import { storeError } from './database.ts';

/** An object that takes part in a group besides its calls. */
export interface GroupMember {
  /** Writes what it collected, as the last step before the commit. */
  beforeCommit(): void;
  /** Called when the group is durable. */
  committed(): void;
  /** Called when nothing of the group happened: drop what was collected and cached. */
  rolledBack(): void;
}

/** A call that waits for its group. */
interface Waiting {
  readonly isDurable: boolean;
  /** Runs inside the transaction. */
  run(): void;
  /** Answers the caller, after the commit. */
  settle(): void;
  refuse(error: SvcError): void;
}

/** An object instead of functions: there are several for each message. */
class Call<T> implements Waiting {
  readonly isDurable: boolean;
  readonly #work: () => T;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: SvcError) => void;
  #outcome: { readonly value: T } | SvcError | null = null;

  constructor(work: () => T, isDurable: boolean, resolve: (value: T) => void, reject: (error: SvcError) => void) {
    this.isDurable = isDurable;
    this.#work = work;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Its own refusal concerns only its caller, because it comes before its first write. */
  run(): void {
    try {
      this.#outcome = { value: this.#work() };
    } catch (error) {
      if (!(error instanceof SvcError) || error.code === 'internal') throw error;
      this.#outcome = error;
    }
  }

  settle(): void {
    if (this.#outcome instanceof SvcError) this.#reject(this.#outcome);
    else if (this.#outcome !== null) this.#resolve(this.#outcome.value);
  }

  refuse(error: SvcError): void {
    this.#reject(error);
  }
}

/** Most calls in one transaction. Further ones wait for the next group. */
const GROUP_LIMIT = 2_048;

/**
 * Group commit: calls of two turns of the event loop share one transaction and so one fsync (K10). Callers resolve
 * after COMMIT, never before. A group of calls that need not be durable by themselves has no fsync: the next group that
 * has one makes them durable before its own callers resolve, since the log is one sequence. A call checks everything before its first write and refuses by throwing an SvcError. Any
 * other error rolls the group back, and each call is run again alone, so that it fails no other call.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #members: readonly GroupMember[];
  readonly #onFailed: () => void;
  readonly #mends: (error: unknown) => boolean;
  readonly #begin;
  readonly #commit;
  /** Whether a commit waits for the disk now. */
  #isSynced = true;
  #waiting: Waiting[] = [];
  #scheduled = false;

  /** `onFailed`: called when a group could not be written. `mends`: whether the fault is mended, so that the group is tried again. */
  constructor(
    database: DatabaseSync,
    members: readonly GroupMember[],
    onFailed: () => void = () => {},
    mends: (error: unknown) => boolean = () => false,
  ) {
    this.#database = database;
    this.#members = members;
    this.#onFailed = onFailed;
    this.#mends = mends;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
  }

  /** Runs a synchronous call in the next group. Resolves once the group is durable, or written when `isDurable` is false. */
  write<T>(call: () => T, isDurable = true): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(new Call(call, isDurable, resolve, reject));
      this.#schedule();
    });
  }

  /** Commits the waiting calls. */
  flush(): void {
    while (this.#waiting.length > 0) {
      const calls = this.#waiting.length <= GROUP_LIMIT ? this.#waiting : this.#waiting.slice(0, GROUP_LIMIT);
      this.#waiting = this.#waiting.slice(calls.length);
      this.#runTogether(calls);
    }
  }

  /**
   * Runs the group at the end of the next turn of the event loop: turns whose messages or effects came together end one or two
   * turns apart, and a larger group writes each page and waits for the disk once.
   */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => setImmediate(() => this.#runWaiting()));
  }

  #runWaiting(): void {
    this.#scheduled = false;
    const calls = this.#waiting.splice(0, GROUP_LIMIT);
    if (this.#waiting.length > 0) this.#schedule();
    if (calls.length > 0) this.#runTogether(calls);
  }

  #runTogether(calls: readonly Waiting[]): void {
    const failure = this.#attempt(calls);
    if (failure === null) return;
    const [only, ...others] = calls;
    if (only !== undefined && others.length === 0) only.refuse(failure);
    else for (const call of calls) this.#runTogether([call]);
  }

  /** Runs the calls in one transaction. Returns why it was rolled back, or null when it is durable. */
  #attempt(calls: readonly Waiting[]): SvcError | null {
    try {
      this.#sync(calls.some(({ isDurable }) => isDurable));
      this.#begin.run();
      for (const call of calls) call.run();
      for (const member of this.#members) member.beforeCommit();
      this.#commit.run();
    } catch (error) {
      this.#rollBack();
      if (this.#mends(error)) return this.#attempt(calls);
      const failure = storeError(error);
      if (failure.code === 'unavailable') this.#onFailed();
      return failure;
    }
    for (const call of calls) call.settle();
    for (const member of this.#members) member.committed();
    return null;
  }

  #sync(wanted: boolean): void {
    if (wanted === this.#isSynced) return;
    this.#database.exec(`PRAGMA synchronous = ${wanted ? 'FULL' : 'NORMAL'}`);
    this.#isSynced = wanted;
  }

  #rollBack(): void {
    try {
      // SQLite ends the transaction itself after some errors (a full disk).
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    } finally {
      for (const member of this.#members) member.rolledBack();
    }
  }
}
