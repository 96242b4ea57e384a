import { EXECUTIONS, type ExecutionDocument } from '../actors/execution/view.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../actors/workflow/api.ts';
import { createAgentCatalog } from '../catalog/agent-catalog.ts';
import type { AgentQuota } from '../catalog/agent-quota.ts';
import { createBuiltIns } from '../catalog/built-in/built-ins.ts';
import type { InUse } from '../catalog/in-use.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Documents } from '../runtime/documents.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import type { Random } from '../runtime/random.ts';
import { countBound } from '../security/rate-bounds.ts';
import type { OverridesOf } from '../security/rate-overrides.ts';
import { openSearch, type SearchParts } from './search.ts';

export interface CatalogsParts extends Omit<SearchParts, 'builtIns' | 'settings'> {
  readonly settings: NodeSettings;
  readonly random: Random;
  readonly rateOverrides: OverridesOf;
}

/** What is deployed, what ships with the product, and search over both. */
export async function openCatalogs({ rateOverrides, ...parts }: CatalogsParts) {
  const builtIns = createBuiltIns();
  const inUse = await inUseOf(parts.documents);
  const quota = agentQuota(parts.settings, rateOverrides);
  const agents = await createAgentCatalog({ ...parts, builtIns, inUse, quota });
  return { builtIns, inUse, agents, search: await openSearch({ ...parts, builtIns }) };
}

const NOT_ENDED = { in: ['pending', 'running', 'waiting_for_human_input'] };

/** What runs, as lists show it: at most 250 ms behind. */
export async function inUseOf(documents: Documents): Promise<InUse> {
  const executions = await documents.collection<ExecutionDocument>(EXECUTIONS);
  const runs = await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
  return {
    agent: (tenant, agent_id) => executions.count({ tenant: ranIn(tenant), where: { agent_id, status: NOT_ENDED } }),
    workflow: (tenant, workflow_id) => runs.count({ tenant: ranIn(tenant), where: { workflow_id, status: NOT_ENDED } }),
  };
}

/** What stands in the system's tenant may be global, and run in any tenant. Only a number of it is told. */
const ranIn = (tenant: string): string | null => (tenant === SYSTEM_TENANT ? null : tenant);

/** `spec.rate_limits`, and what operators set over it: how many agents somebody may have. */
export const agentQuota = (
  { rate_limits }: Pick<NodeSettings, 'rate_limits'>,
  overrides?: OverridesOf,
): AgentQuota => ({
  most: async (identity) => countBound(rate_limits, identity, 'agents', await overrides?.of(identity)),
});
