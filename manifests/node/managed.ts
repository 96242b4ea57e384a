import { stringify } from 'yaml';
import { z } from 'zod';
import { API_VERSION } from '../metadata.ts';
import { checkDocument, type Problem } from '../schema-problems.ts';
import { type Json, parseYaml, YAML_LIMITS } from '../yaml.ts';
import { NodeSelf } from './cluster.ts';
import { NodeConfigSchema } from './schema.ts';
import type { NodeSettings } from './settings.ts';

/** Longest text of a managed configuration. */
export const MANAGED_CONFIG_BYTES = 256 * 1024;

/** The first line of a text that controllers hand out: a comment, so that those who know no versions read the text all the same. */
const VERSION_LINE = /^# version (\d{1,16})\n/;

const VERSION_BYTES = 32;

/** What an operator may write, so that there is room for the line. */
export const OPERATORS_CONFIG_BYTES = MANAGED_CONFIG_BYTES - VERSION_BYTES;

/** The text with its version above it, instead of the one that it had. */
export const withVersion = (text: string, version: number): string =>
  `# version ${version}\n${text.replace(VERSION_LINE, '')}`;

/** Which of two texts is the later one; 0 for a text without. */
export const versionOf = (text: string): number => Number(VERSION_LINE.exec(text)?.[1] ?? 0);

const MOST_NODES = 10_000;

const { runtime, observability } = NodeConfigSchema.shape.spec.unwrap().shape;

const level = observability.unwrap().shape.logging.unwrap().shape.level.unwrap();

const isolation = runtime.unwrap().shape.default_isolation.unwrap();

/** The sections that controllers manage for all nodes (spec 1, SyncConfig, PushConfig); what is absent stays a node's own. */
const ManagedConfigSchema = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('ManagedConfig'),
  spec: z.strictObject({
    /** By node id: tags in place of the node's own. */
    nodes: z
      .record(NodeSelf.shape.id.unwrap(), z.strictObject({ tags: NodeSelf.shape.tags.unwrap() }))
      .refine((nodes) => Object.keys(nodes).length <= MOST_NODES, `expected at most ${MOST_NODES} nodes`)
      .optional(),
    observability: z.strictObject({ logging: z.strictObject({ level }) }).optional(),
    runtime: z.strictObject({ default_isolation: isolation }).optional(),
  }),
});

export type ManagedNodeConfig = z.output<typeof ManagedConfigSchema>;

type ParsedManagedConfig =
  | { readonly ok: true; readonly config: ManagedNodeConfig }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const NOTHING: ManagedNodeConfig = { apiVersion: API_VERSION, kind: 'ManagedConfig', spec: {} };

/**
 * A managed configuration from its YAML, or every problem with path, line and column; a key of any other section is
 * named as one that controllers do not manage. Empty text manages nothing. Never throws.
 */
export function parseManagedConfig(text: string): ParsedManagedConfig {
  if (text.trim() === '') return { ok: true, config: NOTHING };
  const parsed = parseYaml(text, { ...YAML_LIMITS, maxBytes: MANAGED_CONFIG_BYTES });
  if (!parsed.ok) return parsed;
  const checked = checkDocument(ManagedConfigSchema, parsed.yaml);
  return checked.ok ? { ok: true, config: checked.manifest } : { ok: false, problems: checked.problems.map(told) };
}

const told = (problem: Problem): Problem =>
  problem.message.startsWith('unknown key ')
    ? { ...problem, message: `${problem.message}: controllers do not manage it` }
    : problem;

export const REDACTED = '[redacted]';

/** What these keys hold is secret; `env:` and `secret:` only name one. */
const SECRET_KEY = /(^|_)(key|token|secret|secret_id|password|passphrase|credential|bearer|authorization)$/i;

/** Maps whose values may all be secrets, whatever their keys. */
const SECRET_MAPS = new Set(['headers', 'credentials', 'environment', 'env']);

/** `spec.signing.vault.key`: the name of a key. */
const NAMES = new Set(['signing.vault.key']);

/** Lists of secrets. A program is told secrets by arguments too, and which of them they are nobody can know. */
const SECRET_LISTS = new Set(['args', 'secrets']);

const REFERENCE = /^(env|secret):/;

const LITERAL = /^literal:/;

/** The settings in force as a `svc.yaml`, without a secret: references to them stay, what they stand for is never here. */
export function shownSettings(settings: NodeSettings): string {
  const plain = z.json().parse(JSON.parse(JSON.stringify(settings)));
  return stringify({ apiVersion: API_VERSION, kind: 'NodeConfig', spec: shown(plain, [], false) }, { lineWidth: 0 });
}

function shown(value: Json, path: readonly string[], isSecret: boolean): Json {
  if (typeof value === 'string') return shownText(value, isSecret);
  if (Array.isArray(value)) return value.map((one) => shown(one, path, isSecret));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, one]) => {
    const at = [...path, key];
    return [key, shown(one, at, isSecret || holdsSecrets(key, at.join('.')))] as const;
  });
  return Object.fromEntries(entries);
}

const holdsSecrets = (key: string, place: string): boolean =>
  (SECRET_KEY.test(key) && !NAMES.has(place)) || SECRET_MAPS.has(key) || SECRET_LISTS.has(key);

function shownText(text: string, isSecret: boolean): string {
  if (REFERENCE.test(text)) return text;
  if (LITERAL.test(text)) return `literal:${REDACTED}`;
  return isSecret ? REDACTED : withoutCredentials(text);
}

/** User, password and the query, where databases take passwords too, of whatever looks like a URL. */
function withoutCredentials(text: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) return text;
  // The last @ ends the credentials, which may hold a /, a ? or another @ that nobody escaped.
  const at = rest.lastIndexOf('@');
  const place = rest.slice(at + 1);
  const query = place.indexOf('?');
  const hidden = at === -1 ? '' : `${REDACTED}@`;
  return `${scheme}${hidden}${query === -1 ? place : `${place.slice(0, query)}?${REDACTED}`}`;
}

/** Where one setting may come from besides the file: flags win over environment, environment over the file. */
export interface SettingSource {
  /** Long flag without the dashes. */
  readonly flag: string;
  readonly env: string | null;
  /** Place in the file. */
  readonly path: readonly string[];
  readonly form: 'text' | 'whole number' | 'comma list';
}

const source = (
  flag: string,
  env: string | null,
  path: string,
  form: SettingSource['form'] = 'text',
): SettingSource => ({ flag, env, path: path.split('.'), form });

/** decided.md "Names", and what differs from pod to pod of one configuration: id and address. */
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

/** The file itself: `--config`, else `SVC_CONFIG`, else `./svc.yaml` when it is there. */
export const CONFIG_FILE = { flag: 'config', env: 'SVC_CONFIG', path: './svc.yaml' } as const;
