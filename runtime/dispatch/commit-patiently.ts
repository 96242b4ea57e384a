import type { ActorStore, Commit, CommitOutcome } from '../actor-store.ts';
import type { Clock } from '../clock.ts';
import { toSvcError } from '../errors.ts';

export interface CommitParts {
  readonly store: Pick<ActorStore, 'commit'>;
  readonly clock: Clock;
  readonly batchLimit: number;
  readonly counts: { fenced: number };
}

const FIRST_DELAY_MS = 20;
const MOST_DELAY_MS = 1_000;

/**
 * Repeats a commit whose outcome is unknown: the store recognises one that happened (actor-store.ts). When it is over
 * with the partition here, whoever holds it next finds what the store has.
 */
export async function commitPatiently(
  { store, clock, batchLimit, counts }: CommitParts,
  commit: Commit,
  isOver: () => boolean,
): Promise<CommitOutcome> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const outcome = await store.commit(commit, batchLimit);
      if (outcome.kind === 'fenced') counts.fenced += 1;
      return outcome;
    } catch (thrown) {
      if (toSvcError(thrown).code !== 'unavailable') throw thrown;
      if (isOver()) return { kind: 'fenced' };
      await new Promise<void>(
        (resume) => void clock.after(Math.min(FIRST_DELAY_MS * 2 ** attempt, MOST_DELAY_MS), resume),
      );
    }
  }
}
