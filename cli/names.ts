import { CliFailure, EXIT } from './failure.ts';
import { isObject, textOf } from './json.ts';
import { pagesOf } from './list-pages.ts';
import type { NodeClient } from './node-client.ts';
import { structuredOf } from './tool-call.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id of an agent that is given by name or id. */
export async function agentId(client: NodeClient, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId;
  const found = await client.json('GET', `/v1/agents/lookup/${encodeURIComponent(nameOrId)}`, { repeatable: true });
  return textOf(found, 'agent_id');
}

/** Path segments of the API in the place of a workflow's name; a test compares them with the API's description. */
export const PATH_WORDS: readonly string[] = ['executions', 'generate', 'search', 'validate'];

/** Route of a workflow that is given by name or id. A name that is also a path segment is replaced by its id. */
export async function workflowPath(client: NodeClient, nameOrId: string): Promise<string> {
  const id = PATH_WORDS.includes(nameOrId) ? await workflowId(client, nameOrId) : nameOrId;
  return `/v1/workflows/${encodeURIComponent(id)}`;
}

async function workflowId(client: NodeClient, name: string): Promise<string> {
  const { metadata } = await structuredOf(client, 'svc.workflow.export', { name });
  return isObject(metadata) ? textOf(metadata, 'workflow_id') : '';
}

const VOLUMES_PAGE = 1_000;

/** The id of a volume that is given by name or id. */
export async function volumeId(client: NodeClient, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId.toLowerCase();
  for await (const volumes of pagesOf(client, '/v1/volumes', 'volumes', { limit: String(VOLUMES_PAGE) })) {
    const found = volumes.find((volume) => textOf(volume, 'name') === nameOrId);
    if (found !== undefined) return textOf(found, 'id');
  }
  throw new CliFailure(EXIT.notFound, `there is no volume ${nameOrId}`);
}
