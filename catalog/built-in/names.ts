import { createHash } from 'node:crypto';

/** UUID of what ships with the product: the same in every installation and version (RFC 9562, version 8). */
export function builtInId(kind: 'agent' | 'workflow', name: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(['svc-built-in', kind, name]))
    .digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

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
