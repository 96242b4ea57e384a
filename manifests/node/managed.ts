import { z } from 'zod';
import { API_VERSION } from '../metadata.ts';
import { checkDocument, type Problem } from '../schema-problems.ts';
import { parseYaml, YAML_LIMITS } from '../yaml.ts';
import { NodeSelf } from './cluster.ts';
import { ManagedProviders } from './managed-providers.ts';
import { NodeConfigSchema } from './schema.ts';

/** Longest text of a managed configuration. */
export const MANAGED_CONFIG_BYTES = 256 * 1024;

/** Maximum number of YAML elements in it: reading them takes about 50 ms. */
const MANAGED_CONFIG_TOKENS = 25_000;

/** First line of a managed text: a comment, so that readers without versions can still read it. */
const VERSION_LINE = /^# version (\d{1,16})\n/;

const VERSION_BYTES = 32;

/** Limit of the operator's text, which leaves room for the version line. */
export const OPERATORS_CONFIG_BYTES = MANAGED_CONFIG_BYTES - VERSION_BYTES;

/** The text with this version in its first line, in place of an earlier one. */
export const withVersion = (text: string, version: number): string =>
  `# version ${version}\n${text.replace(VERSION_LINE, '')}`;

/** Version of a text, for order; 0 without one. */
export const versionOf = (text: string): number => Number(VERSION_LINE.exec(text)?.[1] ?? 0);

const MOST_NODES = 10_000;

const { runtime, observability } = NodeConfigSchema.shape.spec.unwrap().shape;

const level = observability.unwrap().shape.logging.unwrap().shape.level.unwrap();

const isolation = runtime.unwrap().shape.default_isolation.unwrap();

/** The sections that controllers manage for all nodes (G30); an absent one stays the node's own. */
const ManagedConfigSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('ManagedConfig'),
  spec: z.strictObject({
    /** By node id: tags that replace the node's own. */
    nodes: z
      .record(NodeSelf.shape.id.unwrap(), z.strictObject({ tags: NodeSelf.shape.tags.unwrap() }))
      .refine((nodes) => Object.keys(nodes).length <= MOST_NODES, `expected at most ${MOST_NODES} nodes`)
      .optional(),
    observability: z.strictObject({ logging: z.strictObject({ level }) }).optional(),
    runtime: z.strictObject({ default_isolation: isolation }).optional(),
    /** In addition to the node's own; see `providersOf`. */
    llm_providers: ManagedProviders.optional(),
  }),
});

export type ManagedNodeConfig = z.output<typeof ManagedConfigSchema>;

type ParsedManagedConfig =
  | { readonly ok: true; readonly config: ManagedNodeConfig }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const NOTHING: ManagedNodeConfig = { apiVersion: API_VERSION, kind: 'ManagedConfig', spec: {} };

/**
 * A managed configuration from its YAML, or every problem with path, line and column; any other section is refused as one that
 * controllers do not manage. Empty text manages nothing. Never throws.
 */
export function parseManagedConfig(text: string): ParsedManagedConfig {
  if (text.trim() === '') return { ok: true, config: NOTHING };
  const parsed = parseYaml(text, { ...YAML_LIMITS, maxBytes: MANAGED_CONFIG_BYTES, maxTokens: MANAGED_CONFIG_TOKENS });
  if (!parsed.ok) return parsed;
  const checked = checkDocument(ManagedConfigSchema, parsed.yaml);
  return checked.ok
    ? { ok: true, config: checked.manifest }
    : { ok: false, problems: checked.problems.map(withReason) };
}

/** With the reason before a hint such as `; did you mean "nodes"?`. */
function withReason(problem: Problem): Problem {
  const [, unknown, hint = ''] = /^(unknown key "(?:[^"\\]|\\.)*")(.*)$/.exec(problem.message) ?? [];
  return unknown === undefined ? problem : { ...problem, message: `${unknown}: controllers do not manage it${hint}` };
}

/** Sources of one setting besides the file: flags override the environment, which overrides the file. */
export interface SettingSource {
  /** Long flag without the dashes. */
  readonly flag: string;
  readonly env: string | null;
  /** Path in the file. */
  readonly path: readonly string[];
  readonly form: 'text' | 'whole number' | 'comma list';
}

const source = (
  flag: string,
  env: string | null,
  path: string,
  form: SettingSource['form'] = 'text',
): SettingSource => ({ flag, env, path: path.split('.'), form });

/** Settings that flags and the environment can give (W45), and those that differ between pods: id and address. */
export const SETTING_SOURCES: readonly SettingSource[] = [
  source('data', 'SVC_DATA', 'spec.stores.data_dir'),
  source('http-port', 'SVC_HTTP_PORT', 'spec.network.port', 'whole number'),
  source('grpc-port', 'SVC_GRPC_PORT', 'spec.network.grpc_port', 'whole number'),
  source('cluster-port', 'SVC_CLUSTER_PORT', 'spec.cluster.cluster_grpc_port', 'whole number'),
  source('internal-port', 'SVC_INTERNAL_PORT', 'spec.network.internal.port', 'whole number'),
  source('internal-grpc-port', 'SVC_INTERNAL_GRPC_PORT', 'spec.network.internal.grpc_port', 'whole number'),
  source('bind', 'SVC_BIND', 'spec.network.bind'),
  source('redis', 'REDIS_URL', 'spec.stores.redis'),
  source('mongodb', 'MONGODB_URI', 'spec.stores.mongodb'),
  source('accept-older-documents', 'SVC_ACCEPT_OLDER_DOCUMENTS', 'spec.stores.accept_older_documents'),
  source('node-id', 'SVC_NODE_ID', 'spec.node.id'),
  source('advertise-host', 'SVC_ADVERTISE_HOST', 'spec.cluster.advertise_host'),
  source('role', null, 'spec.cluster.role'),
  source('tags', null, 'spec.node.tags', 'comma list'),
];

/** The file itself: `--config`, or `SVC_CONFIG`, or `./svc.yaml` if it exists. */
export const CONFIG_FILE = { flag: 'config', env: 'SVC_CONFIG', path: './svc.yaml' } as const;
