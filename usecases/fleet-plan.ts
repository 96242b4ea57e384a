import type { Viewer } from '../runtime/identity.ts';
import { poolOfTags } from '../runtime/locator.ts';
import type { ClusterApi, ClusterPlan, FleetChange } from './ports/cluster.ts';
import type { RunsApi } from './runs/list-runs.ts';
import { type Run, UNFINISHED_STATUSES } from './runs/run.ts';

/** An unfinished run whose pool would have no node. */
type StrandedRun = Pick<Run, 'id' | 'kind' | 'name' | 'status' | 'tags'> & { readonly pool: string };

/** The effects of a change of the fleet, also on runs that the viewer may see. */
interface FleetPlan extends ClusterPlan {
  readonly waiting_runs: {
    readonly count: number;
    /** False: more unfinished runs exist than were examined, so the count is a minimum. */
    readonly complete: boolean;
    /** Newest first. */
    readonly runs: readonly StrandedRun[];
  };
}

/** Most unfinished runs that are examined. */
const MOST_EXAMINED = 10_000;

const PAGE = 1_000;

const MOST_NAMED = 50;

/** Plans a change of the fleet without making it. Throws as `ClusterApi.plan` does. */
export async function planFleet(
  { cluster, runs }: { readonly cluster: Pick<ClusterApi, 'plan'>; readonly runs: Pick<RunsApi, 'list'> },
  viewer: Viewer,
  change: FleetChange,
): Promise<FleetPlan> {
  const plan = await cluster.plan(change);
  const lost = new Set(plan.pools.flatMap((one) => (one.was_served && one.waiting_for !== null ? [one.pool] : [])));
  return { ...plan, waiting_runs: await strandedIn(runs, viewer, lost) };
}

async function strandedIn(
  runs: Pick<RunsApi, 'list'>,
  viewer: Viewer,
  pools: ReadonlySet<string>,
): Promise<FleetPlan['waiting_runs']> {
  const named: StrandedRun[] = [];
  let count = 0;
  let next: string | undefined;
  if (pools.size === 0) return { count, complete: true, runs: named };
  for (let examined = 0; examined < MOST_EXAMINED; ) {
    const page = await runs.list(viewer, { status: UNFINISHED_STATUSES }, { limit: PAGE, next });
    for (const { id, kind, name, status, tags } of page.runs) {
      const pool = poolOfTags(tags);
      if (!pools.has(pool)) continue;
      count += 1;
      if (named.length < MOST_NAMED) named.push({ id, kind, name, status, tags, pool });
    }
    if (page.next === undefined) return { count, complete: true, runs: named };
    next = page.next;
    // A page without a run still counts, so that the loop ends.
    examined += Math.max(1, page.runs.length);
  }
  return { count, complete: false, runs: named };
}
