import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';

const BACKOFF_BASE_MS = 250;
const BACKOFF_CAP_MS = 10_000;

/** Full jitter: anything between nothing and a bound that doubles with each failure, up to 10 s. `failures` from 1. */
export function backoffMs(failures: number, random: Random): number {
  return random.fraction() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** Math.min(failures, 20));
}

/** A wait that can be cut short. */
export interface Pause {
  /** Resolves after `durationMs` or with the next `end`; at once when `end` was called since the last wait. */
  wait(durationMs: number): Promise<void>;
  end(): void;
}

export function createPause(clock: Clock): Pause {
  let ended = false;
  let finish: (() => void) | null = null;
  return {
    async wait(durationMs) {
      if (!ended) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(durationMs, resolve);
          finish = () => {
            cancel();
            resolve();
          };
        });
      }
      finish = null;
      ended = false;
    },
    end() {
      ended = true;
      finish?.();
    },
  };
}
