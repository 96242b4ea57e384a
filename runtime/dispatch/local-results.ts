import type { Partition } from '../address.ts';
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

/**
 * Results of effects that ran in this process and wait for their log's next batch, which handles them beside the
 * mailbox.
 */
export class LocalResults {
  #waiting: Waiting[] = [];
  /** Results that the running batch has taken. */
  #taken: Waiting[] = [];
  #takenCount = 0;
  /** Results of the running batch's own effects: whether it handles them is not known yet. */
  #ahead: Waiting[] = [];
  /**
   * Results of the batch's own effects that it does not handle. The store learns of these effects with its commit, and
   * only the next batch can end them.
   */
  #behind: Waiting[] = [];

  /**
   * Adds a result. False: it was not written and must be sent as a message. `serve` is called when this is the first
   * waiting result.
   */
  add(result: LocalResult, serve: () => void): Promise<boolean> {
    return new Promise((taken) => {
      this.#waiting.push({ result, taken });
      if (this.#waiting.length === 1) serve();
    });
  }

  get isAnyWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Takes results for the running batch, which ends with `done`. `ahead` holds the batch's own effects, whose results
   * `tookAhead` reports on.
   */
  take(ahead: ReadonlyMap<string, unknown>): readonly LocalResult[] {
    const now = this.#waiting.splice(0, MOST_AT_ONCE);
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
    this.#waiting.unshift(...this.#behind.splice(0));
    const count = this.#takenCount;
    this.#takenCount = 0;
    return count;
  }

  /** Drops the results of these effects. */
  drop(ids: ReadonlyMap<string, unknown>): void {
    const isDropped = ({ result }: Waiting): boolean => ids.has(result.id);
    const held = [...this.#waiting, ...this.#ahead, ...this.#behind];
    this.#waiting = this.#waiting.filter((one) => !isDropped(one));
    this.#ahead = [];
    this.#behind = [];
    for (const { taken } of held.filter(isDropped)) taken(false);
  }

  /** The results that the running batch must handle. */
  get taken(): readonly LocalResult[] {
    return this.#taken.map(({ result }) => result);
  }

  /** Refuses results that the running batch does not handle: they are sent as messages. */
  refuseSome(refused: readonly LocalResult[]): void {
    for (const result of refused) {
      const at = this.#taken.findIndex((one) => one.result === result);
      if (at < 0) continue;
      for (const { taken } of this.#taken.splice(at, 1)) taken(false);
    }
  }

  /** Refuses all waiting results at the end of serving: they are sent as messages. */
  refuse(): void {
    for (const { taken } of this.#waiting.splice(0)) taken(false);
  }
}
