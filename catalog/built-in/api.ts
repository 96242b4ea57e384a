import { derivedUuid } from '../../runtime/random.ts';
import type { DeployedAgent, DeployedWorkflow } from '../api.ts';

/**
 * Agents and workflows that ship with the product. Readers find them last (after user, tenant and global ones); they are
 * read-only, status deployed, scope global, labelled `svc.dev/platform: "true"`. Manifests are parsed at the first use.
 */
export interface BuiltIns {
  readonly agents: readonly DeployedAgent[];
  readonly workflows: readonly DeployedWorkflow[];
}

/** Where nothing ships: tests, tools that only check manifests. */
export const NO_BUILT_INS: BuiltIns = { agents: [], workflows: [] };

/** The label every built-in carries. */
export const PLATFORM_LABEL = 'svc.dev/platform';

/** UUID of what ships with the product: the same in every installation and version. */
export const builtInId = (kind: 'agent' | 'workflow', name: string): string => derivedUuid('svc-built-in', kind, name);

/** Names of the agents that ship with the product, as their files are called. */
export const BUILT_IN_AGENTS = [
  'agent-author',
  'code-quality-judge',
  'code-writer-bash',
  'code-writer-javascript',
  'code-writer-python',
  'output-formatter',
  'workflow-author',
] as const;

export const BUILT_IN_WORKFLOWS = ['svc-intent-pipeline'] as const;

/** Writes agents, behind svc.agent.generate. */
export const AGENT_AUTHOR_ID = builtInId('agent', 'agent-author');

/** Writes workflows, behind svc.workflow.generate. */
export const WORKFLOW_AUTHOR_ID = builtInId('agent', 'workflow-author');

/** Behind svc.execute.intent. */
export const INTENT_PIPELINE_ID = builtInId('workflow', 'svc-intent-pipeline');

const AUTHORS: ReadonlySet<string> = new Set([AGENT_AUTHOR_ID, WORKFLOW_AUTHOR_ID]);

/**
 * Whether it is an authoring agent of the product: these run under `svc-system-default` in every tenant. Ids of deployed
 * agents are random, so nobody deploys one of these.
 */
export const isAuthor = (agentId: string): boolean => AUTHORS.has(agentId);
