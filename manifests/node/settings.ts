import { API_VERSION } from '../metadata.ts';
import { checkDocument, type Json, type Problem, pathText, type YamlText } from '../schema-problems.ts';
import { parseYaml } from '../yaml.ts';
import { SETTING_SOURCES, type SettingSource } from './managed.ts';
import { type NodeConfig, NodeConfigSchema } from './schema.ts';
import { startRules } from './start-rules.ts';

/** The node's settings: the file's `spec` with defaults, overridden by flags and environment. */
export type NodeSettings = Omit<NodeConfig['spec'], 'kernel'> & {
  readonly kernel: Omit<NodeConfig['spec']['kernel'], 'partitions'> & { readonly partitions: number };
};

type ResolvedSettings =
  | { readonly ok: true; readonly settings: NodeSettings }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export interface SettingInput {
  /** By long name without dashes: `{'http-port': '0'}`. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Text of svc.yaml; null when there is none. */
  readonly file: string | null;
}

/** No file: the YAML library is not loaded for it. */
const EMPTY_FILE: YamlText = {
  value: { apiVersion: API_VERSION, kind: 'NodeConfig' },
  locate: () => ({ line: 1, column: 1 }),
};

/**
 * The node's settings, or every problem. Pure: reads no file and no process environment. A problem of a flag or
 * variable has its name as path and line 0; secrets stay references.
 */
export function resolveSettings({ flags, env, file }: SettingInput): ResolvedSettings {
  const parsed = file === null ? { ok: true as const, yaml: EMPTY_FILE } : parseYaml(file);
  if (!parsed.ok) return parsed;
  const overrides = SETTING_SOURCES.flatMap((source) => overrideOf(source, flags, env));
  const checked = checkDocument(NodeConfigSchema, overlay(parsed.yaml, overrides));
  const inForce = checked.ok ? startRules(checked.manifest.spec, parsed.yaml) : checked.problems;
  const problems = [
    ...(file === null ? [] : hiddenProblems(parsed.yaml, overrides)),
    ...inForce.map((problem) => named(problem, overrides, file === null)),
  ];
  if (problems.length > 0 || !checked.ok) return { ok: false, problems };
  const { kernel, ...spec } = checked.manifest.spec;
  const partitions = kernel.partitions ?? (spec.stores.redis === undefined ? 64 : 256);
  return { ok: true, settings: { ...spec, kernel: { ...kernel, partitions } } };
}

interface Override {
  readonly path: readonly string[];
  readonly value: Json;
  /** `--http-port` or `SVC_HTTP_PORT`. */
  readonly name: string;
}

function overrideOf(source: SettingSource, flags: SettingInput['flags'], env: SettingInput['env']): Override[] {
  const flag = flags[source.flag];
  if (flag !== undefined) return [{ path: source.path, value: readText(source, flag), name: `--${source.flag}` }];
  const variable = source.env === null ? undefined : env[source.env];
  // An empty variable is the usual way to unset one.
  if (source.env === null || variable === undefined || variable === '') return [];
  return [{ path: source.path, value: readText(source, variable), name: source.env }];
}

function readText(source: SettingSource, text: string): Json {
  if (source.form === 'whole number' && /^-?\d{1,9}$/.test(text)) return Number(text);
  if (source.form === 'comma list')
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  return text;
}

function overlay(yaml: YamlText, overrides: readonly Override[]): YamlText {
  let value = yaml.value;
  for (const override of overrides) value = withValue(value, override.path, override.value);
  return { value, locate: yaml.locate };
}

function withValue(node: Json, path: readonly string[], value: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (node !== null && (typeof node !== 'object' || Array.isArray(node))) return node;
  return { ...node, [key]: withValue(node?.[key] ?? null, rest, value) };
}

/** Problems of the file at overridden paths: these values must be valid too. */
function hiddenProblems(yaml: YamlText, overrides: readonly Override[]): Problem[] {
  const checked = checkDocument(NodeConfigSchema, yaml);
  if (checked.ok) return [];
  return checked.problems.filter((problem) => overrides.some((override) => isHidden(problem, override)));
}

const isAt = (problem: Problem, place: string): boolean =>
  problem.path === place || problem.path.startsWith(`${place}[`);

/** At the overridden place, or in a parent of it that is not a map. */
const isHidden = (problem: Problem, override: Override): boolean => {
  const place = pathText(override.path);
  return isAt(problem, place) || problem.path === '' || place.startsWith(`${problem.path}.`);
};

function named(problem: Problem, overrides: readonly Override[], withoutFile: boolean): Problem {
  const from = overrides.find((override) => isAt(problem, pathText(override.path)));
  if (from !== undefined) return { ...problem, path: from.name, line: 0, column: 0 };
  return withoutFile ? { ...problem, line: 0, column: 0 } : problem;
}
