import { createAgentCatalog } from '../../../catalog/agent-catalog.ts';
import type { AgentCatalog, CatalogSearch, Embeddings, WorkflowCatalog } from '../../../catalog/api.ts';
import { type BuiltIns, NO_BUILT_INS } from '../../../catalog/built-in/api.ts';
import { createCatalogSearch } from '../../../catalog/search/catalog-search.ts';
import { createWorkflowCatalog } from '../../../catalog/workflow-catalog.ts';
import { NodeCortex } from '../../../manifests/node/models.ts';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import type { Documents } from '../../../runtime/documents.ts';
import { type Identity, SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { systemRandom } from '../../../runtime/random.ts';

/** One node's view of a document store that several share. */
export interface SearchNode {
  readonly agents: AgentCatalog;
  readonly workflows: WorkflowCatalog;
  readonly search: CatalogSearch;
  /** What went into the log. */
  readonly warnings: string[];
}

interface NodeParts {
  /** `spec.cortex` as a file has it. */
  readonly cortex?: object;
  readonly builtIns?: BuiltIns;
  readonly embeddings?: Embeddings;
  readonly clock?: Clock;
}

export async function searchNode(documents: Documents, parts: NodeParts = {}): Promise<SearchNode> {
  const { builtIns = NO_BUILT_INS, clock = systemClock, embeddings } = parts;
  const warnings: string[] = [];
  const given = { documents, clock, builtIns };
  const agents = await createAgentCatalog({ ...given, random: systemRandom });
  return {
    agents,
    workflows: await createWorkflowCatalog({ ...given, random: systemRandom, agents }),
    search: await createCatalogSearch({
      ...given,
      settings: NodeCortex.parse(parts.cortex ?? {}),
      ...(embeddings === undefined ? {} : { embeddings }),
      warn: (message) => warnings.push(message),
    }),
    warnings,
  };
}

export const admin = (tenant: string, subject = 'admin'): Identity => ({
  ...{ kind: 'tenant_user', subject, tenant, roles: ['svc:admin'], tier: 'enterprise' },
});
/** Without a tenant that of the system; else acting in it, as a tool that names one does. */
export const operator = (tenant = SYSTEM_TENANT): Identity => ({
  ...{ kind: 'operator', subject: 'op', tenant, roles: ['svc:operator'], tier: 'enterprise' },
});

export const agentYaml = (
  name: string,
  description: string,
  more: { readonly version?: string; readonly labels?: string; readonly instruction?: string } = {},
) => `apiVersion: svc.dev/v1
kind: Agent
metadata:
  name: ${name}
  version: "${more.version ?? '1.0.0'}"
  description: ${description}
  labels: {${more.labels ?? ''}}
spec:
  task:
    instruction: ${more.instruction ?? 'do it'}
`;

export const workflowYaml = (name: string, description: string, prompt = 'go on?') => `apiVersion: svc.dev/v1
kind: Workflow
metadata: {name: ${name}, version: "1.0.0", description: ${description}}
spec:
  initial_state: START
  states:
    START: {kind: Human, prompt: "${prompt}", transitions: []}
`;
