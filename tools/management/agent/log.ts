import type { ExecutionApi, ExecutionStatus } from '../../../actors/execution/api.ts';
import type { AgentCatalog, CatalogReader } from '../../../catalog/api.ts';
import { type Descending, type Entry, newestOfTwo } from '../two-logs.ts';

interface Parts {
  readonly agents: Pick<AgentCatalog, 'logs'>;
  readonly executions: Pick<ExecutionApi, 'ended'>;
}

/** Word of an ended execution in the log of its agent, as in its own. */
const ENDED_AS: Readonly<Partial<Record<ExecutionStatus['status'], string>>> = {
  ...{ completed: 'ExecutionCompleted', failed: 'ExecutionFailed', cancelled: 'ExecutionFailed' },
};

/**
 * The log of an agent (svc.agent.logs): what was done to it, and how executions of it in the reader's tenant ended, newest
 * first. A page costs a page of each, however far behind it is. Throws `not_found`.
 */
export async function agentLog(
  { agents, executions }: Parts,
  reader: CatalogReader,
  agentId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly events: readonly Entry[]; readonly total: number }> {
  const { total: changes } = await agents.logs(reader, agentId, { limit: 1, offset: 0 });
  const { total: ends } = await executions.ended(reader, agentId, { limit: 1, skip: 0 });
  const catalog: Descending = {
    total: changes,
    async read(skip, limit) {
      const count = Math.min(limit, changes - skip);
      const { events } = await agents.logs(reader, agentId, { limit: count, offset: changes - skip - count });
      return events.map(({ event_type, payload, recorded_at }) => ({ event_type, payload, recorded_at })).toReversed();
    },
  };
  const runs: Descending = {
    total: ends,
    async read(skip, limit) {
      const found = await executions.ended(reader, agentId, { limit, skip });
      return found.executions.map(({ execution_id, agent_id, status, ended_at }) => ({
        event_type: ENDED_AS[status] ?? status,
        payload: { execution_id, agent_id, status },
        recorded_at: ended_at ?? '',
      }));
    },
  };
  return { events: await newestOfTwo(catalog, runs, page), total: changes + ends };
}
