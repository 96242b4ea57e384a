import { EXECUTIONS, type ExecutionDocument } from '../actors/execution/view.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../actors/workflow/api.ts';
import { createAgentCatalog } from '../catalog/agent-catalog.ts';
import type { AgentQuota } from '../catalog/agent-quota.ts';
import { AgentsWithoutScopes } from '../catalog/agents-without-scopes.ts';
import { createBuiltIns } from '../catalog/built-in/built-ins.ts';
import type { InUse } from '../catalog/in-use.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import type { Random } from '../runtime/random.ts';
import { countBound } from '../security/rate-bounds.ts';
import type { OverridesOf } from '../security/rate-overrides.ts';

const NOT_ENDED = { in: ['pending', 'running', 'waiting_for_human_input'] };

/** What runs, as lists show it: at most 250 ms behind. Of all tenants only a number is told. */
export async function inUseOf(documents: Documents): Promise<InUse> {
  const executions = await documents.collection<ExecutionDocument>(EXECUTIONS);
  const runs = await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
  return {
    agent: (tenant, agent_id) => executions.count({ tenant, where: { agent_id, status: NOT_ENDED } }),
    workflow: (tenant, workflow_id) => runs.count({ tenant, where: { workflow_id, status: NOT_ENDED } }),
  };
}

/** `spec.rate_limits`, and what operators set over it: how many agents somebody may have. */
export const agentQuota = (
  { rate_limits }: Pick<NodeSettings, 'rate_limits'>,
  overrides?: OverridesOf,
): AgentQuota => ({
  most: async (identity) => countBound(rate_limits, identity, 'agents', await overrides?.of(identity)),
});

/** The catalog of agents, and what that of workflows needs as well. */
export async function openAgents(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: NodeSettings;
  readonly overrides: OverridesOf;
}) {
  const { documents, clock, random, settings, overrides } = parts;
  const builtIns = createBuiltIns();
  const inUse = await inUseOf(documents);
  const quota = agentQuota(settings, overrides);
  const agents = await createAgentCatalog({ documents, clock, random, builtIns, inUse, quota });
  return { agents, builtIns, inUse, oldAgents: await AgentsWithoutScopes.open(documents) };
}
