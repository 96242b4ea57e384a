import { isObject, textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';
import { structuredOf } from './tool-call.ts';

/** Words that are paths of their own where a name of a workflow would stand; a test compares them with the API's description. */
export const PATH_WORDS: readonly string[] = ['executions', 'generate', 'search', 'validate'];

/** Route of a workflow that is named by its id or its name. One that is called like another path is named by its id. */
export async function workflowPath(client: NodeClient, nameOrId: string): Promise<string> {
  return `/v1/workflows/${encodeURIComponent(PATH_WORDS.includes(nameOrId) ? await idOf(client, nameOrId) : nameOrId)}`;
}

async function idOf(client: NodeClient, name: string): Promise<string> {
  const { metadata } = await structuredOf(client, 'svc.workflow.export', { name });
  return isObject(metadata) ? textOf(metadata, 'workflow_id') : '';
}
