import { textOf } from './json.ts';
import type { NodeClient } from './node-client.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id of an agent that is named by its id or its name. */
export async function agentId(client: NodeClient, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId;
  const found = await client.json('GET', `/v1/agents/lookup/${encodeURIComponent(nameOrId)}`, { repeatable: true });
  return textOf(found, 'agent_id');
}
