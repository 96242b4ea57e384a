import type { Partition } from '../address.ts';
import type { EffectSettle } from '../effect-ledger.ts';
import { isSpilled } from '../turns/payload.ts';

/** A result, and where its actor lives. */
export interface LocalResult extends EffectSettle {
  readonly partition: Partition;
}

interface Waiting {
  readonly result: LocalResult;
  readonly taken: (written: boolean) => void;
}

const MOST_AT_ONCE = 64;

/** Results of effects that ran in this process and wait for their log's next batch: it handles them beside the mailbox. */
export class LocalResults {
  #waiting: Waiting[] = [];
  /** By the batch that runs. */
  #taken: Waiting[] = [];
  #takenCount = 0;
  /** Of effects of the batch that runs: whether it handles them is not known yet. */
  #ahead: Waiting[] = [];
  /** Those that it does not handle: the store hears of these effects with its commit, and only the next batch can end them. */
  #behind: Waiting[] = [];

  /**
   * False: it was not written and must be sent like any other. `serve` is called when there is something to take and
   * nothing was waiting already.
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

  /** For the batch that runs, which ends with `done`. `ahead`: effects of that very batch, of which `tookAhead` tells. */
  take(ahead: ReadonlyMap<string, unknown>): readonly LocalResult[] {
    const now = this.#waiting.splice(0, MOST_AT_ONCE);
    this.#takenCount += now.length;
    // Only a result that has to be read, and what comes behind it, may be refused: all others are taken at once.
    const isSure = !now.some(({ result }) => isSpilled(result.delivery.body));
    for (const one of now) {
      if (!ahead.has(one.result.id)) this.#taken.push(one);
      else if (isSure) one.taken(true);
      else this.#ahead.push(one);
    }
    return now.map(({ result }) => result);
  }

  /**
   * The batch has had what it took. Effects of its own have ended with it, whatever becomes of it, so that their places are
   * free at once; those whose results it refused, since they could not be read soon enough, wait for the next one.
   */
  tookAhead(refused: readonly LocalResult[]): void {
    for (const one of this.#ahead.splice(0)) {
      if (refused.includes(one.result)) this.#behind.push(one);
      else one.taken(true);
    }
  }

  /** The batch has ended. Answers how many it had taken. */
  done(written: boolean): number {
    const all = this.#taken.splice(0);
    for (const { taken } of all) taken(written);
    this.#waiting.unshift(...this.#behind.splice(0));
    const count = this.#takenCount;
    this.#takenCount = 0;
    return count;
  }

  /** What these effects brought counts for nothing. */
  drop(ids: ReadonlyMap<string, unknown>): void {
    const isDropped = ({ result }: Waiting): boolean => ids.has(result.id);
    const held = [...this.#waiting, ...this.#ahead, ...this.#behind];
    this.#waiting = this.#waiting.filter((one) => !isDropped(one));
    this.#ahead = [];
    this.#behind = [];
    for (const { taken } of held.filter(isDropped)) taken(false);
  }

  /** Those that the batch that runs has to handle. */
  get taken(): readonly LocalResult[] {
    return this.#taken.map(({ result }) => result);
  }

  /** The batch that runs does not handle these: they are sent. */
  refuseSome(refused: readonly LocalResult[]): void {
    for (const result of refused) {
      const at = this.#taken.findIndex((one) => one.result === result);
      if (at < 0) continue;
      for (const { taken } of this.#taken.splice(at, 1)) taken(false);
    }
  }

  /** Nothing is served any more: what waits is sent. */
  refuse(): void {
    for (const { taken } of this.#waiting.splice(0)) taken(false);
  }
}
