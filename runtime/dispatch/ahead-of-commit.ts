import { poolOf } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { encodeRequest, fairnessPart } from '../effects/effect-envelope.ts';
import type { BatchWrites } from '../turns/batch-writes.ts';

interface AheadParts {
  readonly queue: Pick<EffectQueue, 'reserve'>;
  readonly clock: Clock;
}

/**
 * Effects of one batch that this process runs before the batch's commit (E1): those that only read and whose request
 * allows it (`EffectRequest.ahead`). Their results wait for that commit or are handled by it. When it does not happen
 * the effects are stopped and their results dropped. Call `end` at the end.
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

  /**
   * Starts effects that the turns requested since the last call, for as many as there are slots. True: some were
   * started.
   */
  start({ effects, effectsCancelled, drafts, texts }: BatchWrites): boolean {
    const { queue, clock } = this.#parts;
    const before = this.#requests.size;
    for (const asked of effects.slice(this.#looked)) {
      const { id, request, cause, fairnessKey } = asked;
      if (request.mode !== 'repeatable' || request.ahead !== true || effectsCancelled.includes(id)) continue;
      const partition = drafts.get(cause.to)?.activation.partition;
      if (partition === undefined) continue;
      const name = poolOf(partition);
      const key = fairnessPart(fairnessKey);
      const slot = queue.reserve(name, { address: cause.to, ...key });
      if (slot === null) continue;
      const body = encodeRequest(texts.of(request), asked);
      this.#requests.set(id, body);
      const job = { id, queue: name, address: cause.to, partition, ...key };
      slot.run(job, { attempt: 1, body, claimedAt: clock.monotonic(), committed: this.#committed.promise });
    }
    this.#looked = effects.length;
    return this.#requests.size > before;
  }

  /**
   * Reports whether the commit happened. Pass false also when its outcome is unknown: the store then decides who runs
   * the effects.
   */
  end(committed: boolean): void {
    this.#committed.resolve(committed);
  }
}
