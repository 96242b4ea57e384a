import { EXECUTIONS, type ExecutionDocument } from '../actors/execution/view.ts';
import { type AgentQuota, createAgentCatalog } from '../catalog/agent-catalog.ts';
import { AgentsWithoutScopes } from '../catalog/agents-without-scopes.ts';
import type { CatalogSearch, Embeddings, InUse } from '../catalog/api.ts';
import type { BuiltIns } from '../catalog/built-in/api.ts';
import { createBuiltIns } from '../catalog/built-in/built-ins.ts';
import type { Patterns } from '../catalog/patterns-api.ts';
import { createEmbeddings } from '../effects/models/embeddings.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { KnownStorage } from '../manifests/workflow/check/flow.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import { Lazy } from '../runtime/kit/lazy.ts';
import type { Secrets } from '../security/api.ts';
import { countBound, type OverridesOf } from '../security/rate-bounds.ts';
import { UNFINISHED_STATUSES } from '../usecases/runs/run.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../usecases/workflow-runs.ts';
import type { NodeContext } from './node-context.ts';

const NOT_ENDED = { in: UNFINISHED_STATUSES };

/**
 * Counts running executions and workflow runs, from lists that are at most 250 ms behind. Across tenants it returns
 * only the number.
 */
export async function inUseOf(documents: Documents): Promise<InUse> {
  const executions = await documents.collection<ExecutionDocument>(EXECUTIONS);
  const runs = await documents.collection<WorkflowExecutionDocument>(WORKFLOW_EXECUTIONS);
  return {
    agent: (tenant, agent_id) => executions.count({ tenant, where: { agent_id, status: NOT_ENDED } }),
    workflow: (tenant, workflow_id) => runs.count({ tenant, where: { workflow_id, status: NOT_ENDED } }),
  };
}

/** The quota of agents: `spec.rate_limits`, overridden by operators' rates. */
export const agentQuota = (
  { rate_limits }: Pick<NodeSettings, 'rate_limits'>,
  overrides?: OverridesOf,
): AgentQuota => ({
  most: async (identity) => countBound(rate_limits, identity, 'agents', await overrides?.of(identity)),
});

/** The limits with which a deploy compares the sizes of volumes. */
export const knownStorage = ({ storage }: Pick<NodeSettings, 'storage'>): KnownStorage => ({
  maxSizeLimitMb: storage.max_size_limit_mb,
  enforcesSize: storage.local_host.quota === 'image',
});

/** Opens the catalog of agents, with the parts that the catalog of workflows shares with it. */
export async function openCatalogs(parts: {
  readonly context: NodeContext;
  readonly documents: Documents;
  readonly overrides: OverridesOf;
}) {
  const { context, documents, overrides } = parts;
  const { clock, random, settings, secrets, warn } = context;
  const builtIns = createBuiltIns();
  const inUse = await inUseOf(documents);
  const quota = agentQuota(settings, overrides);
  const { maxSizeLimitMb } = knownStorage(settings);
  const agents = await createAgentCatalog({ documents, clock, random, builtIns, inUse, quota, maxSizeLimitMb });
  const oldAgents = await AgentsWithoutScopes.open(documents);
  const search = openSearch({ documents, clock, settings, secrets, builtIns, warn });
  return { agents, builtIns, inUse, oldAgents, search };
}

interface SearchParts {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly settings: Pick<NodeSettings, 'cortex' | 'llm_providers' | 'llm_selection'>;
  readonly secrets: Secrets;
  readonly builtIns: BuiltIns;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Opens the search over the catalog, with the model of `spec.cortex.embeddings` if one is named. The index is created
 * by the first search, so that an idle node does not hold it. Throws `invalid_config` at once for a model that no
 * provider serves, so that the start of the node fails.
 */
export function openSearch(parts: SearchParts): CatalogSearch {
  const { documents, clock, settings, builtIns, warn } = parts;
  const embeddings = embeddingsOf(parts);
  const search = new Lazy(async () => {
    const { createCatalogSearch } = await import('../catalog/search/catalog-search.ts');
    return createCatalogSearch({ documents, clock, builtIns, warn, settings: settings.cortex, ...embeddings });
  });
  return {
    agents: async (...question) => (await search.get()).agents(...question),
    workflows: async (...question) => (await search.get()).workflows(...question),
  };
}

function embeddingsOf({ settings, secrets }: PatternsParts): { readonly embeddings?: Embeddings } {
  const { cortex, llm_providers: providers, llm_selection: selection } = settings;
  if (cortex.embeddings === undefined) return {};
  return { embeddings: createEmbeddings({ settings: cortex.embeddings, providers, selection, secrets }) };
}

type PatternsParts = Omit<SearchParts, 'builtIns'>;

/** Opens the learned patterns. They are created by the first request, so that an idle node does not hold them. */
export function openPatterns(parts: PatternsParts): Patterns {
  const { documents, clock, settings, warn } = parts;
  const embeddings = embeddingsOf(parts);
  const patterns = new Lazy(async () => {
    const { createPatterns } = await import('../catalog/patterns/patterns.ts');
    return createPatterns({ documents, clock, warn, settings: settings.cortex, ...embeddings });
  });
  return {
    query: async (...call) => (await patterns.get()).query(...call),
    store: async (...call) => (await patterns.get()).store(...call),
    list: async (...call) => (await patterns.get()).list(...call),
  };
}
