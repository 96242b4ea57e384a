import type { Commit } from '../actor-store.ts';
import type { Clock } from '../clock.ts';
import type { EffectJob, EffectPlace, EffectQueue, StartedEffect } from '../effect-queue.ts';

export interface StartsHereOptions {
  readonly queue: Pick<EffectQueue, 'reserve'>;
  /** `node/incarnation` of this process' effect runner. */
  readonly runner: string;
  readonly claimTtlMs: number;
  readonly clock: Clock;
}

/** The effects of one commit that this process starts with it. Ends with `begin` or `free`. */
export interface Starting {
  readonly commit: Commit;
  /** The commit is durable: runs the effect when it is one of these. */
  begin(job: EffectJob): boolean;
  /** The commit did not happen, or nobody knows. */
  free(): void;
}

/**
 * Starts effects with the commit that opens them: while this process has a place for one, the commit is its claim too, so
 * the mark is durable before it runs and no second write is needed (design E1, E2).
 */
export class StartsHere {
  readonly #options: StartsHereOptions;

  constructor(options: StartsHereOptions) {
    this.#options = options;
  }

  /** `bodies`: encoded requests by effect id, none stored aside. */
  of(commit: Commit, bodies: ReadonlyMap<string, string>): Starting {
    const { queue, runner, claimTtlMs, clock } = this.#options;
    const places = new Map<string, { readonly place: EffectPlace; readonly started: StartedEffect }>();
    const claimedAt = clock.monotonic();
    const effectsOpened = commit.effectsOpened.map((effect) => {
      const body = bodies.get(effect.id);
      const place = body === undefined ? null : queue.reserve(effect.queue);
      if (body === undefined || place === null) return effect;
      places.set(effect.id, { place, started: { attempt: 1, body, claimedAt } });
      return { ...effect, started: { runner, ttlMs: claimTtlMs } };
    });
    return {
      commit: places.size === 0 ? commit : { ...commit, effectsOpened },
      begin(job) {
        const found = places.get(job.id);
        places.delete(job.id);
        found?.place.run(job, found.started);
        return found !== undefined;
      },
      free() {
        for (const { place } of places.values()) place.free();
        places.clear();
      },
    };
  }
}
