import type { Log } from '../address.ts';

interface Known {
  readonly at: number;
  /** Monotonic ms. */
  readonly heardAt: number;
}

/**
 * The clock of the server that has a log, as far as this process knows it: what it said last, plus the monotonic
 * time since its answer came. So it is behind that clock by the way of an answer at most, and not ahead of it unless
 * that was set back. Messages that the store takes once name when they were sent first by it: the store refuses what is
 * older than the ids that it remembers.
 */
export class ServerTimes {
  readonly #ask: (log: Log) => Promise<number>;
  /** One server has all logs. */
  readonly #single: boolean;
  readonly #known = new Map<string, Known>();

  constructor(ask: (log: Log) => Promise<number>, single: boolean) {
    this.#ask = ask;
    this.#single = single;
  }

  /** Null when the server has not said it yet. */
  now(log: Log): number | null {
    const known = this.#known.get(this.#serverOf(log));
    return known === undefined ? null : Math.floor(known.at + performance.now() - known.heardAt);
  }

  /** The same; the server is asked when it has not said it yet. */
  async nowOrAsked(log: Log): Promise<number> {
    return this.now(log) ?? (await this.ask(log));
  }

  /** The server said its time just now. */
  tell(log: Log, at: number): void {
    this.#known.set(this.#serverOf(log), { at, heardAt: performance.now() });
  }

  async ask(log: Log): Promise<number> {
    const at = await this.#ask(log);
    this.tell(log, at);
    return at;
  }

  #serverOf(log: Log): string {
    return this.#single ? '' : log;
  }
}
