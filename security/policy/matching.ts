import type { CallLimits } from '../../manifests/tool/decision.ts';
import type { Capability, CommandCeilings, ManifestTool, ToolOffer, ToolScope } from '../../manifests/tool/scope.ts';

/** The fields of a tool that matching needs. */
export type NamedTool = Pick<ToolOffer, 'name' | 'source' | 'server'>;

/** `fs.read`, `fs.*` or `*`; a prefix ends at a dot, so `fs.*` never matches `fsx.read`. */
function matchesTool(pattern: string, name: string): boolean {
  if (pattern === '*') return true;
  return pattern.endsWith('.*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Built-in tools behind a server name, unless a server of that name is configured. */
const STANDS_FOR: Readonly<Record<string, readonly string[]>> = {
  filesystem: ['fs.*'],
  'web-search': ['web.search', 'web.fetch'],
};

export const CMD_RUN = 'cmd.run';

/** Whether an MCP server of the name is configured: `mcp:filesystem` then means that server, not fs.*. */
type HasServer = (name: string) => boolean;

/** Whether an entry of `spec.tools` grants a tool, ignoring its configuration. */
function grants(entry: ManifestTool, tool: NamedTool, hasServer: HasServer): boolean {
  if (entry.executor === 'builtin:cmd') return tool.name === CMD_RUN;
  if (entry.server === undefined) return matchesTool(entry.name, tool.name);
  const server = entry.server.slice('mcp:'.length);
  if (tool.source === 'mcp') return tool.server === server && narrowsTo(entry.name, server, tool.name);
  const isMeant = (pattern: string): boolean =>
    matchesTool(pattern, tool.name) && (!isToolName(entry.name) || matchesTool(entry.name, tool.name));
  return (STANDS_FOR[server] ?? []).some(isMeant) && !hasServer(server);
}

/**
 * An entry named like its server grants all its tools. Otherwise the name is a tool or a pattern, with or without the server's
 * name.
 */
function narrowsTo(name: string, server: string, tool: string): boolean {
  return name === server || matchesTool(name, tool) || matchesTool(`${server}.${name}`, tool);
}

const isToolName = (name: string): boolean => name.includes('.') || name === '*';

export const denied = ({ deny_list }: ToolScope, names: readonly string[]): boolean =>
  deny_list.some((pattern) => names.some((name) => matchesTool(pattern, name)));

export const capabilitiesFor = ({ capabilities }: ToolScope, name: string): readonly Capability[] =>
  capabilities.filter(({ tool_pattern }) => matchesTool(tool_pattern, name));

/** Entries that grant the tool; null without a manifest. */
export const entriesFor = ({ manifest }: ToolScope, tool: NamedTool, hasServer: HasServer) =>
  manifest === null ? null : manifest.filter((entry) => grants(entry, tool, hasServer));

/** Whether a tool is offered under a scope: not on the deny list, in the context and in the manifest. */
export function isListed(scope: ToolScope, tool: NamedTool, hasServer: HasServer = () => false): boolean {
  const isNamed = (pattern: string): boolean => matchesTool(pattern, tool.name);
  if (scope.deny_list.some(isNamed) || !scope.capabilities.some((one) => isNamed(one.tool_pattern))) return false;
  return scope.manifest === null || scope.manifest.some((entry) => grants(entry, tool, hasServer));
}

const DEFAULT_CEILINGS: CommandCeilings = {
  default_timeout_secs: 60,
  max_timeout_ceiling_secs: 300,
  max_output_bytes: 524_288,
  max_concurrent_per_execution: 1,
  global_env_denylist: [],
};

/**
 * The command ceilings of `spec.builtin_dispatchers`: those of `cmd` or `cmd.run`, or the defaults when neither is configured.
 */
export function commandCeilings(
  dispatchers: readonly (CommandCeilings & { readonly name: string })[],
): CommandCeilings {
  return dispatchers.find(({ name }) => name === 'cmd' || name === 'cmd.run') ?? DEFAULT_CEILINGS;
}

/** Environment variables that are always hidden from commands of agents: names, or prefixes before `*`. */
const ENV_DENYLIST = [
  ...['AWS_*', 'AZURE_*', 'GOOGLE_*', 'GCP_*', 'GCLOUD_*', 'CLOUDSDK_*', 'DIGITALOCEAN_*', 'ALIBABA_*', 'OCI_*'],
  ...['GITHUB_*', 'GH_*', 'GITLAB_*', 'CI_JOB_*', 'CIRCLE_*', 'BUILDKITE_*', 'JENKINS_*', 'NPM_*', 'NODE_AUTH_*'],
  ...['OPENAI_*', 'ANTHROPIC_*', 'GEMINI_*', 'MISTRAL_*', 'COHERE_*', 'HF_*', 'HUGGING*', 'OPENROUTER_*', 'GROQ_*'],
  ...['VAULT_*', 'BAO_*', 'SECRET*', 'TOKEN*', 'PASSWORD*', 'PRIVATE_KEY*', 'CREDENTIAL*', 'SVC_*'],
  ...['REDIS_*', 'MONGODB_*', 'DATABASE_*', 'DOCKER_*', 'KUBE*', 'SSH_*', 'GPG_*'],
];

/** One day, longer than any execution: a count in this window covers the whole execution. */
const EXECUTION_SECS = 86_400;

/** Limits of a call under `capability` and `entry`; the smaller one when both set a limit. */
export function limitsOf(
  contextName: string,
  capability: Capability,
  entry: ManifestTool | null,
  ceilings: CommandCeilings | null,
): CallLimits {
  const { tool_pattern, rate_limit, max_concurrent, max_response_size } = capability;
  const maxBytes = smaller(max_response_size, count(entry, 'max_file_size_bytes'));
  const calls = count(entry, 'max_calls_per_execution');
  const rates = [
    ...(rate_limit === undefined ? [] : [{ key: `${contextName}:${tool_pattern}`, ...rate_limit }]),
    ...(calls === undefined
      ? []
      : [{ key: `manifest:${entry?.server ?? tool_pattern}`, calls, per_seconds: EXECUTION_SECS }]),
  ];
  return {
    ...(maxBytes === undefined ? {} : { max_response_bytes: maxBytes }),
    ...(rates.length === 0 ? {} : { rate_limits: rates }),
    ...(max_concurrent === undefined ? {} : { max_concurrent, capability: tool_pattern }),
    ...(ceilings === null ? {} : { command: commandLimits(entry, ceilings) }),
  };
}

function commandLimits(entry: ManifestTool | null, ceilings: CommandCeilings): NonNullable<CallLimits['command']> {
  const timeoutSecs = count(entry, 'timeout_ceiling_secs') ?? ceilings.default_timeout_secs;
  const outputBytes = count(entry, 'max_output_bytes') ?? ceilings.max_output_bytes;
  return {
    timeout_secs: Math.min(timeoutSecs, ceilings.max_timeout_ceiling_secs),
    max_output_bytes: Math.min(outputBytes, ceilings.max_output_bytes),
    env_denylist: [...ENV_DENYLIST, ...ceilings.global_env_denylist, ...texts(entry, 'env_var_denylist')],
    max_concurrent: ceilings.max_concurrent_per_execution,
  };
}

function count(entry: ManifestTool | null, name: string): number | undefined {
  const value = entry?.config[name];
  return typeof value === 'number' && value > 0 ? value : undefined;
}

function texts(entry: ManifestTool | null, name: string): string[] {
  const value = entry?.config[name];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

const smaller = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
