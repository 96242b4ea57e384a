import { CliFailure, EXIT } from './failure.ts';
import { isObject, textOf } from './json.ts';
import { pagesOf } from './list-pages.ts';
import type { NodeClient } from './node-client.ts';
import { structuredOf } from './tool-call.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id of an agent that is given by name or id. */
export async function agentId(client: NodeClient, nameOrId: string): Promise<string> {
  if (UUID.test(nameOrId)) return nameOrId;
  const path = `/v1/agents/lookup/${encodeURIComponent(nameOrId)}`;
  const found = await named(client, 'agent', nameOrId, () => client.json('GET', path, { repeatable: true }));
  return textOf(found, 'agent_id');
}

const NAMES_PAGE = '1000';

/**
 * Returns what `read` returns. When the name does not exist, throws an error that names the nearest deployed name. When
 * `read` is refused for another reason, that error is thrown unchanged.
 */
export async function named<T>(
  client: NodeClient,
  kind: 'agent' | 'workflow',
  name: string,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    const isMissing = thrown instanceof CliFailure && thrown.exitCode === EXIT.notFound;
    if (!isMissing || UUID.test(name)) throw thrown;
    throw new CliFailure(EXIT.notFound, `there is no ${kind} ${name}${await meantInstead(client, kind, name)}`);
  }
}

/** `; did you mean "haiku"?`, or nothing: a hint must not become an error of its own. */
async function meantInstead(client: NodeClient, kind: 'agent' | 'workflow', name: string): Promise<string> {
  const query = { scope: 'visible', limit: NAMES_PAGE };
  const names: string[] = [];
  try {
    for await (const page of pagesOf(client, `/v1/${kind}s`, `${kind}s`, query)) {
      names.push(...page.map((one) => textOf(one, 'name')));
      break;
    }
  } catch (thrown) {
    if (!(thrown instanceof CliFailure)) throw thrown;
  }
  const { didYouMean } = await import('../manifests/nearest.ts');
  return didYouMean(name, names);
}

/** Names of the agents that the caller sees, by id. */
export async function agentNames(client: NodeClient): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for await (const page of pagesOf(client, '/v1/agents', 'agents', { scope: 'visible', limit: NAMES_PAGE }))
    for (const agent of page) names.set(textOf(agent, 'agent_id'), textOf(agent, 'name'));
  return names;
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

/** What a name stands for: an agent, or a workflow. `agent/NAME` and `workflow/NAME` say which. */
export async function deployedKind(
  client: NodeClient,
  given: string,
): Promise<{ readonly kind: 'agent' | 'workflow'; readonly name: string }> {
  const [, kind, name = given] = /^(agent|workflow)\/(.+)$/s.exec(given) ?? [];
  if (kind === 'agent' || kind === 'workflow') return { kind, name };
  const [agent, workflow] = await Promise.all([
    exists(client, `/v1/agents/${UUID.test(name) ? '' : 'lookup/'}${encodeURIComponent(name)}`),
    workflowPath(client, name).then((path) => exists(client, path)),
  ]);
  if (agent && workflow)
    throw new CliFailure(
      EXIT.validation,
      `${name} is an agent and a workflow: write agent/${name} or workflow/${name}`,
    );
  if (agent || workflow) return { kind: agent ? 'agent' : 'workflow', name };
  const meant = (await meantInstead(client, 'workflow', name)) || (await meantInstead(client, 'agent', name));
  throw new CliFailure(EXIT.notFound, `there is no file, workflow or agent ${name}${meant}`);
}

async function exists(client: NodeClient, path: string): Promise<boolean> {
  try {
    await client.json('GET', path, { repeatable: true });
    return true;
  } catch (thrown) {
    if (thrown instanceof CliFailure && thrown.exitCode === EXIT.notFound) return false;
    throw thrown;
  }
}
