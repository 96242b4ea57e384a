import { derivedUuid } from '../../runtime/random.ts';
import type { DeployedAgent, DeployedWorkflow } from '../api.ts';

/**
 * Agents and workflows that ship with the product. Readers find them last, after user, tenant and global ones. They are
 * read-only, with status deployed, scope global and label `svc.dev/platform: "true"`. Manifests are parsed at the first use.
 */
export interface BuiltIns {
  readonly agents: readonly DeployedAgent[];
  readonly workflows: readonly DeployedWorkflow[];
}

/** Without built-ins: for tests, and tools that only check manifests. */
export const NO_BUILT_INS: BuiltIns = { agents: [], workflows: [] };

/** UUID of a built-in, the same in every installation and version. */
export const builtInId = (kind: 'agent' | 'workflow', name: string): string => derivedUuid('svc-built-in', kind, name);

/** Names of the built-in agents, equal to their file names. */
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

/** Agent that writes agents, for svc.agent.generate. */
export const AGENT_AUTHOR_ID = builtInId('agent', 'agent-author');

/** Agent that writes workflows, for svc.workflow.generate. */
export const WORKFLOW_AUTHOR_ID = builtInId('agent', 'workflow-author');

/** Workflow of svc.execute.intent. */
export const INTENT_PIPELINE_ID = builtInId('workflow', 'svc-intent-pipeline');

const AUTHORS: ReadonlySet<string> = new Set([AGENT_AUTHOR_ID, WORKFLOW_AUTHOR_ID]);

/**
 * Whether it is a built-in authoring agent. These run under `svc-system-default` in every tenant. Ids of deployed agents are
 * random, so no deployed agent can have one of these ids.
 */
export const isAuthor = (agentId: string): boolean => AUTHORS.has(agentId);
