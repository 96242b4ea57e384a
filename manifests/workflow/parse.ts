import { didYouMean } from '../nearest.ts';
import {
  checkDocument,
  type Json,
  MAX_PROBLEMS,
  type Parsed,
  type Problem,
  pathText,
  type YamlText,
} from '../schema-problems.ts';
import { parseYaml } from '../yaml.ts';
import { quoted } from './check/rule.ts';
import { type WorkflowManifest, WorkflowManifestSchema } from './schema.ts';

/** The check that found a problem. */
export type ProblemRule = 'invalid_yaml' | 'invalid_field' | 'unknown_state' | 'unknown_volume';

interface RuledProblem extends Problem {
  readonly rule: ProblemRule;
}

type ReadWorkflow =
  | { readonly ok: true; readonly manifest: WorkflowManifest; readonly yaml: YamlText }
  | { readonly ok: false; readonly problems: readonly RuledProblem[] };

/** A workflow manifest from its YAML, or every problem with path, line and column. Never throws. */
export function parseWorkflowManifest(text: string): Parsed<WorkflowManifest> {
  const read = readWorkflow(text);
  if (read.ok) return { ok: true, manifest: read.manifest };
  return { ok: false, problems: read.problems.map(({ rule: _, ...problem }) => problem) };
}

/** The same, with the rule of each problem and the map from a path to its line. */
export function readWorkflow(text: string): ReadWorkflow {
  const parsed = parseYaml(text);
  if (!parsed.ok) return { ok: false, problems: ruled('invalid_yaml', parsed.problems) };
  const { yaml } = parsed;
  const checked = checkDocument(WorkflowManifestSchema, yaml);
  const names = unknownNames(yaml.value)
    .slice(0, MAX_PROBLEMS)
    .map(({ rule, path, message }): RuledProblem => ({ rule, path: pathText(path), ...yaml.locate(path), message }));
  if (checked.ok && names.length === 0) return { ok: true, manifest: checked.manifest, yaml };
  const problems = [...names, ...(checked.ok ? [] : ruled('invalid_field', checked.problems))];
  return {
    ok: false,
    problems: problems.slice(0, MAX_PROBLEMS).sort((a, b) => a.line - b.line || a.column - b.column),
  };
}

const ruled = (rule: ProblemRule, problems: readonly Problem[]): RuledProblem[] =>
  problems.map((problem) => ({ ...problem, rule }));

/** A name that is not declared in the document. */
interface UnknownName {
  readonly rule: 'unknown_state' | 'unknown_volume';
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

type Fields = Readonly<Record<string, Json>>;

/**
 * Rules over several parts of a document (W1): `initial_state` and every `target` are keys of `states`; a container's volume
 * belongs to the workflow. Reads the document as written, so these problems are found beside any others.
 */
function unknownNames(document: Json): UnknownName[] {
  const spec = fieldsOf(fieldsOf(document).spec ?? null);
  const states = fieldsOf(spec.states ?? null);
  const volumes = volumeNames(spec);
  const found: UnknownName[] = [];
  const wantState = (name: Json | undefined, path: readonly PropertyKey[]): void => {
    if (typeof name === 'string' && name !== '' && !Object.hasOwn(states, name))
      found.push({
        rule: 'unknown_state',
        path,
        message: `expected the name of a state, got ${quoted(name)}${didYouMean(name, Object.keys(states))}`,
      });
  };
  wantState(spec.initial_state, ['spec', 'initial_state']);
  for (const [name, value] of Object.entries(states)) {
    const state = fieldsOf(value);
    const path = ['spec', 'states', name];
    for (const [index, transition] of listOf(state.transitions).entries())
      wantState(fieldsOf(transition).target, [...path, 'transitions', index, 'target']);
    if (state.kind === 'ContainerRun') found.push(...unknownVolumes(state, path, volumes));
    if (state.kind === 'ParallelContainerRun')
      for (const [index, step] of listOf(state.steps).entries())
        found.push(...unknownVolumes(fieldsOf(step), [...path, 'steps', index], volumes));
  }
  return found;
}

function unknownVolumes(step: Fields, path: readonly PropertyKey[], known: ReadonlySet<string>): UnknownName[] {
  return [...listOf(step.volumes).entries()].flatMap(([index, mount]): UnknownName[] => {
    const { name } = fieldsOf(mount);
    if (typeof name !== 'string' || known.has(name)) return [];
    const message = `expected the name of a volume of the workflow (${[...known].slice(0, 10).join(', ')}), got ${quoted(name)}${didYouMean(name, known)}`;
    return [{ rule: 'unknown_volume', path: [...path, 'volumes', index, 'name'], message }];
  });
}

/** Every execution has a workspace (W5), declared or not. */
function volumeNames(spec: Fields): Set<string> {
  const names = new Set(['workspace']);
  for (const volume of listOf(fieldsOf(spec.storage ?? null).shared_volumes)) {
    const { name } = fieldsOf(volume);
    if (typeof name === 'string') names.add(name);
  }
  return names;
}

function fieldsOf(value: Json): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
