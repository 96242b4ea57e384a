import type { NodeRateLimits } from '../manifests/node/rate-limits.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { OneAtATimePerKey } from '../runtime/kit/queues.ts';
import type { Principal, RunningLimits, StartedKind } from './api.ts';
import { countBound, type OverridesOf, type RunningCounts, subjectKey } from './rate-bounds.ts';

/** What callers with a bound started and what was not seen ended yet: never many more than their bound. */
export const RUNNING_STARTS: CollectionSpec = {
  name: 'running_starts',
  unique: [],
  indexes: [['whose', 'started_at']],
};

/** `id` is that of the execution. */
export interface RunningStart extends StoredDocument {
  readonly whose: string;
  readonly kind: StartedKind;
  readonly started_at: string;
}

/** A start that nobody knows is one that failed, or one that is under way for at most this long. */
const UNDER_WAY_MS = 30_000;
const RETRY_AFTER_MS = 5_000;
const MOST_READ = 1_000;

interface Parts {
  readonly documents: Documents;
  readonly settings: NodeRateLimits;
  readonly overrides: OverridesOf;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether it has ended; null: nobody knows it. */
  readonly hasEnded: (kind: StartedKind, tenant: string, id: string) => Promise<boolean | null>;
}

/**
 * How many executions somebody may have running at once (H28). A place is taken before the start and given
 * back when somebody looks and the execution has ended, so a killed node leaks none. On one node the starts of a user are
 * admitted one by one; of starts that race on several nodes all beyond the bound are refused, and never too few.
 */
export async function openRunningLimits(parts: Parts): Promise<RunningLimits & RunningCounts> {
  const { settings, clock } = parts;
  const starts = await parts.documents.collection<RunningStart>(RUNNING_STARTS);
  const queues = new OneAtATimePerKey();

  async function admit(principal: Principal, kind: StartedKind, id: string): Promise<void> {
    const bound = countBound(settings, principal, 'concurrent_executions', await parts.overrides.of(principal));
    if (bound === null) return;
    const { tenant } = principal;
    const whose = subjectKey(principal);
    const started_at = new Date(clock.now()).toISOString();
    await starts.insert({ tenant, id, version: 1, whose, kind, started_at });
    const running = async (): Promise<number> => starts.count({ tenant, where: { whose } });
    if ((await running()) <= bound) return;
    await sweep(parts, starts, tenant, whose);
    if ((await running()) <= bound) return;
    await starts.delete(tenant, id);
    const rule = `at most ${bound} executions may run at once`;
    throw new SvcError('rate_limited', `${rule}; wait for one to end.`, {
      ...{ field: 'concurrent_executions', retryAfterMs: RETRY_AFTER_MS },
    });
  }

  return {
    admit(principal, kind, id) {
      const whose = `${principal.tenant} ${subjectKey(principal)}`;
      return queues.run(whose, () => admit(principal, kind, id));
    },

    async release({ tenant }, id) {
      await starts.delete(tenant, id);
    },

    async count(principal) {
      const whose = subjectKey(principal);
      await sweep(parts, starts, principal.tenant, whose);
      return starts.count({ tenant: principal.tenant, where: { whose } });
    },
  };
}

/** Gives back the places of what has ended, or never began. */
async function sweep(
  { hasEnded, clock }: Pick<Parts, 'hasEnded' | 'clock'>,
  starts: Collection<RunningStart>,
  tenant: string,
  whose: string,
): Promise<void> {
  const found = await starts.find({ tenant, where: { whose }, sort: [['started_at', 'asc']], limit: MOST_READ });
  const ended = await Promise.all(found.map(({ kind, id }) => hasEnded(kind, tenant, id)));
  const before = new Date(clock.now() - UNDER_WAY_MS).toISOString();
  const over = found.filter(({ started_at }, n) => ended[n] === true || (ended[n] === null && started_at < before));
  for (const { id } of over) await starts.delete(tenant, id);
}
