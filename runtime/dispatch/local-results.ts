import type { Address, Partition } from '../address.ts';
import type { EffectSettle } from '../effect-ledger.ts';
import { isSpilled } from '../turns/payload.ts';

/** A result, and the partition of its actor. */
export interface LocalResult extends EffectSettle {
  readonly partition: Partition;
}

interface Waiting {
  readonly result: LocalResult;
  readonly taken: (written: boolean) => void;
}

const MOST_AT_ONCE = 64;

const NONE: ReadonlySet<Address> = new Set();

/**
 * Results of effects that ran in this process and wait for their log's next batch, which handles them beside the
 * mailbox.
 */
export class LocalResults {
  #waiting: Waiting[] = [];
  #noteMore: () => void = () => {};

  /**
   * Adds a result. False: it was not written and must be sent as a message. `serve` is called when this is the first
   * waiting result.
   */
  add(result: LocalResult, serve: () => void): Promise<boolean> {
    return new Promise((taken) => {
      this.#waiting.push({ result, taken });
      this.#noteMore();
      if (this.#waiting.length === 1) serve();
    });
  }

  /** Calls `note` when a result is added. It takes the place of the one before. */
  onMore(note: () => void): void {
    this.#noteMore = note;
  }

  get isAnyWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Number of waiting results. */
  get count(): number {
    return this.#waiting.length;
  }

  /** Number of waiting results of other actors than these. */
  countBeside(actors: ReadonlySet<Address>): number {
    let count = 0;
    for (const { result } of this.#waiting) if (!actors.has(result.delivery.to)) count += 1;
    return count;
  }

  /** Creates the results of one batch, which takes none of these actors. */
  forBatch(excluded: ReadonlySet<Address> = NONE): BatchResults {
    return new BatchResults(this.#exchange, excluded);
  }

  /** Refuses all waiting results at the end of serving: they are sent as messages. */
  refuse(): void {
    for (const { taken } of this.#waiting.splice(0)) taken(false);
  }

  readonly #exchange: Exchange = {
    take: (most, excluded) => {
      if (excluded.size === 0) return this.#waiting.splice(0, most);
      const now: Waiting[] = [];
      const left: Waiting[] = [];
      for (const one of this.#waiting) {
        const isTaken = now.length < most && !excluded.has(one.result.delivery.to);
        (isTaken ? now : left).push(one);
      }
      this.#waiting = left;
      return now;
    },
    putBack: (results) => {
      this.#waiting.unshift(...results);
    },
    drop: (isDropped) => {
      const dropped = this.#waiting.filter(isDropped);
      this.#waiting = this.#waiting.filter((one) => !isDropped(one));
      return dropped;
    },
  };
}

/** The waiting results, as a batch takes them. */
interface Exchange {
  readonly take: (most: number, excluded: ReadonlySet<Address>) => Waiting[];
  readonly putBack: (results: readonly Waiting[]) => void;
  readonly drop: (isDropped: (one: Waiting) => boolean) => Waiting[];
}

/** The results that one batch handles. Ends with `done` or `putBack`. */
export class BatchResults {
  readonly #exchange: Exchange;
  readonly #excluded: ReadonlySet<Address>;
  #taken: Waiting[] = [];
  #takenCount = 0;
  /** Results of the batch's own effects: whether it handles them is not known yet. */
  #ahead: Waiting[] = [];
  /**
   * Results of the batch's own effects that it does not handle. The store learns of these effects with its commit, and
   * only the next batch can end them.
   */
  #behind: Waiting[] = [];

  constructor(exchange: Exchange, excluded: ReadonlySet<Address>) {
    this.#exchange = exchange;
    this.#excluded = excluded;
  }

  /** Takes results. `ahead` holds the batch's own effects, whose results `tookAhead` reports on. */
  take(ahead: ReadonlyMap<string, unknown>, most = MOST_AT_ONCE): readonly LocalResult[] {
    const now = this.#exchange.take(Math.min(most, MOST_AT_ONCE), this.#excluded);
    this.#takenCount += now.length;
    // The batch may refuse only a result that must be fetched from Blobs, and the results behind it. All others are
    // taken at once.
    const isSure = !now.some(({ result }) => isSpilled(result.delivery.body));
    for (const one of now) {
      if (!ahead.has(one.result.id)) this.#taken.push(one);
      else if (isSure) one.taken(true);
      else this.#ahead.push(one);
    }
    return now.map(({ result }) => result);
  }

  /**
   * Reports what the batch did with the results of its own effects. Those effects have ended with the batch, whatever
   * its outcome, so their places are free at once. `refused` results, which could not be read in time, wait for the
   * next batch.
   */
  tookAhead(refused: readonly LocalResult[]): void {
    for (const one of this.#ahead.splice(0)) {
      if (refused.includes(one.result)) this.#behind.push(one);
      else one.taken(true);
    }
  }

  /** Ends the batch. Returns how many results it had taken. */
  done(written: boolean): number {
    const all = this.#taken.splice(0);
    for (const { taken } of all) taken(written);
    this.#exchange.putBack(this.#behind.splice(0));
    const count = this.#takenCount;
    this.#takenCount = 0;
    return count;
  }

  /** Ends a batch that is not committed: its results wait again. Those of its own effects are dropped (`drop`) first. */
  putBack(): void {
    this.#exchange.putBack([...this.#taken.splice(0), ...this.#behind.splice(0)]);
    this.#takenCount = 0;
  }

  /** Drops the results of these effects. */
  drop(ids: ReadonlyMap<string, unknown>): void {
    const isDropped = ({ result }: Waiting): boolean => ids.has(result.id);
    const held = [...this.#exchange.drop(isDropped), ...this.#ahead, ...this.#behind];
    this.#ahead = [];
    this.#behind = [];
    for (const { taken } of held.filter(isDropped)) taken(false);
  }

  /** The results that the batch must handle. */
  get taken(): readonly LocalResult[] {
    return this.#taken.map(({ result }) => result);
  }

  /** Refuses results that the batch does not handle: they are sent as messages. */
  refuseSome(refused: readonly LocalResult[]): void {
    for (const result of refused) {
      const at = this.#taken.findIndex((one) => one.result === result);
      if (at < 0) continue;
      for (const { taken } of this.#taken.splice(at, 1)) taken(false);
    }
  }
}
