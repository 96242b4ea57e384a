import { MAX_PROBLEMS, type Parsed, type Problem, pathText } from '../problem.ts';
import { checkDocument } from '../schema-problems.ts';
import { parseYaml, type YamlText } from '../yaml.ts';
import { unknownNames } from './cross-references.ts';
import { type WorkflowManifest, WorkflowManifestSchema } from './schema.ts';

/** Which check found a problem. */
export type ProblemRule = 'invalid_yaml' | 'invalid_field' | 'unknown_state' | 'unknown_volume';

export interface RuledProblem extends Problem {
  readonly rule: ProblemRule;
}

export type ReadWorkflow =
  | { readonly ok: true; readonly manifest: WorkflowManifest; readonly yaml: YamlText }
  | { readonly ok: false; readonly problems: readonly RuledProblem[] };

/** A workflow manifest from its YAML, or every problem with path, line and column. Never throws. */
export function parseWorkflowManifest(text: string): Parsed<WorkflowManifest> {
  const read = readWorkflow(text);
  if (read.ok) return { ok: true, manifest: read.manifest };
  return { ok: false, problems: read.problems.map(({ rule: _, ...problem }) => problem) };
}

/** The same, with the rule of each problem and the way from a path to its line. */
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
