import { agentId } from '../find-agent.ts';
import type { NodeClient } from '../node-client.ts';
import { workflowPath } from '../read-input.ts';

/** Agents and workflows have the same commands for status and scope. */
export type CatalogKind = 'agent' | 'workflow';

export const withArticle = (kind: CatalogKind): string => (kind === 'agent' ? 'an agent' : 'a workflow');

/** Route of what is named; agents are asked for by id. */
export async function catalogPath(kind: CatalogKind, client: NodeClient, nameOrId: string): Promise<string> {
  if (kind === 'agent') return `/v1/agents/${await agentId(client, nameOrId)}`;
  return workflowPath(client, nameOrId);
}
