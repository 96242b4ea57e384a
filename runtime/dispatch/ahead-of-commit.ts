import { poolOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { encodeRequest, fairnessPart } from '../effects/effect-envelope.ts';
import type { BatchWrites } from '../turns/batch-writes.ts';

export interface AheadParts {
  readonly queue: Pick<EffectQueue, 'reserve'>;
  readonly clock: Clock;
}

/**
 * Effects of one batch that this process runs while the batch's commit is still to come (E1): those that read, and
 * whose request says so (`EffectRequest.ahead`). What they bring waits for that commit or is handled by it; when it does
 * not happen they are stopped, and nothing of them was seen. Ends with `end`.
 */
export class AheadOfCommit {
  readonly #parts: AheadParts;
  /** Encoded requests by effect id. */
  readonly #requests = new Map<string, string>();
  readonly #committed = Promise.withResolvers<boolean>();
  #looked = 0;

  constructor(parts: AheadParts) {
    this.#parts = parts;
  }

  get requests(): ReadonlyMap<string, string> {
    return this.#requests;
  }

  /** Starts what the turns asked for since the last call, as far as there are places. True: something was started. */
  start({ effects, effectsCancelled, drafts }: BatchWrites): boolean {
    const { queue, clock } = this.#parts;
    const before = this.#requests.size;
    for (const asked of effects.slice(this.#looked)) {
      const { id, request, cause, fairnessKey } = asked;
      if (request.mode !== 'repeatable' || request.ahead !== true || effectsCancelled.includes(id)) continue;
      const partition = drafts.get(cause.to)?.activation.partition;
      if (partition === undefined) continue;
      const name = poolOf(partition);
      const key = fairnessPart(fairnessKey);
      const place = queue.reserve(name, { address: cause.to, ...key });
      if (place === null) continue;
      const body = encodeRequest(asked);
      this.#requests.set(id, body);
      const job = { id, queue: name, address: cause.to, partition, ...key };
      place.run(job, { attempt: 1, body, claimedAt: clock.monotonic(), committed: this.#committed.promise });
    }
    this.#looked = effects.length;
    return this.#requests.size > before;
  }

  /** Whether the commit happened. False also when its outcome is unknown: the store then decides who runs the effects. */
  end(committed: boolean): void {
    this.#committed.resolve(committed);
  }
}
