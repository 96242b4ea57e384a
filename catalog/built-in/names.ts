import { derivedUuid } from '../../runtime/derived-uuid.ts';

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
