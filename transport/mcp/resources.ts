import type { Json, JsonObject } from '../../runtime/json.ts';

/** The reading tool behind a resource, so that the grants, limits and audit of calls apply to it. */
interface ResourceRead {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly mimeType: 'application/json' | 'application/yaml';
  /** The part of the tool's structured result that is the content of the resource. */
  readonly contentOf: (result: Json) => string;
}

const asJson = (result: Json): string => JSON.stringify(result, null, 2);

const asManifest = (result: Json): string =>
  typeof result === 'object' && result !== null && 'manifest_yaml' in result && typeof result.manifest_yaml === 'string'
    ? result.manifest_yaml
    : asJson(result);

/** Lists, which have no parameter. */
const LISTS = [
  { uri: 'svc://agents', name: 'agents', tool: 'svc.agent.list', description: 'The deployed agents.' },
  { uri: 'svc://workflows', name: 'workflows', tool: 'svc.workflow.list', description: 'The deployed workflows.' },
  {
    uri: 'svc://executions',
    name: 'executions',
    tool: 'svc.task.list',
    description: 'Executions of agents, newest first.',
  },
  {
    uri: 'svc://runs',
    name: 'workflow runs',
    tool: 'svc.workflow.executions.list',
    description: 'Runs of workflows, newest first.',
  },
  {
    uri: 'svc://approvals',
    name: 'approvals',
    tool: 'svc.approval.list',
    description: 'Questions to humans that runs wait for, oldest first.',
  },
] as const;

/** Resources of one thing. `path`: its id or name is the group. */
const TEMPLATES = [
  {
    uriTemplate: 'svc://agents/{name}',
    path: /^agents\/([^/]+)$/,
    tool: 'svc.agent.export',
    parameter: 'name',
    name: 'agent manifest',
    description: 'The manifest of an agent, as it was deployed.',
  },
  {
    uriTemplate: 'svc://workflows/{name}',
    path: /^workflows\/([^/]+)$/,
    tool: 'svc.workflow.export',
    parameter: 'name',
    name: 'workflow manifest',
    description: 'The manifest of a workflow, as it was deployed.',
  },
  {
    uriTemplate: 'svc://executions/{execution_id}',
    path: /^executions\/([^/]+)$/,
    tool: 'svc.task.status',
    parameter: 'execution_id',
    name: 'execution',
    description: 'Status, output and error of an execution of an agent.',
  },
  {
    uriTemplate: 'svc://executions/{execution_id}/log',
    path: /^executions\/([^/]+)\/log$/,
    tool: 'svc.task.logs',
    parameter: 'execution_id',
    name: 'execution log',
    description: 'The first 50 events of an execution of an agent.',
  },
  {
    uriTemplate: 'svc://runs/{execution_id}',
    path: /^runs\/([^/]+)$/,
    tool: 'svc.workflow.executions.get',
    parameter: 'execution_id',
    name: 'workflow run',
    description: 'A run of a workflow with its input, blackboard, outputs, and what it waits for.',
  },
  {
    uriTemplate: 'svc://runs/{execution_id}/log',
    path: /^runs\/([^/]+)\/log$/,
    tool: 'svc.workflow.logs',
    parameter: 'execution_id',
    name: 'workflow run log',
    description: 'The first 50 events of a run of a workflow.',
  },
] as const;

const isManifest = (tool: string): boolean => tool.endsWith('.export');

const mimeTypeOf = (tool: string) => (isManifest(tool) ? 'application/yaml' : 'application/json');

/** `resources/list` for a caller with these tools. */
export const listedResources = (tools: ReadonlySet<string>) =>
  LISTS.filter(({ tool }) => tools.has(tool)).map(({ uri, name, description, tool }) => ({
    uri,
    name,
    description,
    mimeType: mimeTypeOf(tool),
  }));

/** `resources/templates/list` for a caller with these tools. */
export const listedTemplates = (tools: ReadonlySet<string>) =>
  TEMPLATES.filter(({ tool }) => tools.has(tool)).map(({ uriTemplate, name, description, tool }) => ({
    uriTemplate,
    name,
    description,
    mimeType: mimeTypeOf(tool),
  }));

/** How a resource is read; null for a URI that names none. */
export function resourceRead(uri: string): ResourceRead | null {
  const list = LISTS.find((one) => one.uri === uri);
  if (list !== undefined) return { tool: list.tool, arguments: {}, mimeType: 'application/json', contentOf: asJson };
  const path = /^svc:\/\/(.+)$/s.exec(uri)?.[1] ?? '';
  for (const { path: pattern, tool, parameter } of TEMPLATES) {
    const given = pattern.exec(path)?.[1];
    const value = given === undefined ? null : decoded(given);
    if (value === null) continue;
    const contentOf = isManifest(tool) ? asManifest : asJson;
    return { tool, arguments: { [parameter]: value }, mimeType: mimeTypeOf(tool), contentOf };
  }
  return null;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
