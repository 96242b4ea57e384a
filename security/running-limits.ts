import type { NodeRateLimits } from '../manifests/node/rate-limits.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { counted } from '../runtime/kit/counted.ts';
import { OneAtATimePerKey } from '../runtime/kit/queues.ts';
import type { Principal, RunningLimits, StartedKind } from './api.ts';
import { countBound, type OverridesOf, type RunningCounts, subjectKey } from './rate-bounds.ts';

/** Running starts of callers with a bound. Ended ones are removed when they are next counted. */
export const RUNNING_STARTS: CollectionSpec = {
  name: 'running_starts',
  unique: [],
  indexes: [['whose', 'started_at']],
};

/** `id` is the id of the execution. */
export interface RunningStart extends StoredDocument {
  readonly whose: string;
  readonly kind: StartedKind;
  readonly started_at: string;
}

/** An unknown execution has failed to start, or its start is under way for at most this long. */
const UNDER_WAY_MS = 30_000;
const RETRY_AFTER_MS = 5_000;
const MOST_READ = 1_000;

interface Parts {
  readonly documents: Documents;
  readonly settings: NodeRateLimits;
  readonly overrides: OverridesOf;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether it has ended; null: unknown. */
  readonly hasEnded: (kind: StartedKind, tenant: string, id: string) => Promise<boolean | null>;
}

/**
 * Limits concurrent executions of a caller (H28). A slot is taken before the start, and freed when the next count sees that the
 * execution has ended, so a killed node leaks none. Starts of a user are admitted one at a time on a node; of concurrent starts on
 * several nodes all beyond the bound are refused, possibly more.
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
    const rule = `at most ${counted(bound, 'execution')} may run at once`;
    const context = { field: 'concurrent_executions', retryAfterMs: RETRY_AFTER_MS };
    throw new SvcError('rate_limited', `${rule}; wait for one to end.`, context);
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

/** Frees the slots of executions that have ended or never started. */
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
