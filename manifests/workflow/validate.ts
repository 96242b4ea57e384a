import { checkWorkflow, type Known } from './check/check-workflow.ts';
import type { Finding } from './finding.ts';
import { type ProblemRule, readWorkflow } from './parse.ts';
import type { WorkflowManifest } from './schema.ts';

export interface CheckedWorkflow {
  /** Null when there are errors. */
  readonly manifest: WorkflowManifest | null;
  readonly findings: readonly Finding[];
}

/** What to do about each kind of error. */
export const ERROR_CURES: Readonly<Record<ProblemRule, string>> = {
  invalid_yaml: 'Correct the YAML at this place.',
  invalid_field: 'Write what is expected; docs/workflow-manifest.md has every field with its rule.',
  unknown_state: 'Correct the name, or add the state under spec.states.',
  unknown_volume: 'Correct the name, or declare the volume under spec.storage.shared_volumes.',
};

/**
 * Everything there is to say about the text of a workflow manifest, in one list in the order of its lines: errors where
 * it breaks a rule of spec 3, warnings when it breaks none (a broken one is not looked into further). Never throws.
 */
export function validateWorkflow(text: string, known: Known = {}): CheckedWorkflow {
  const read = readWorkflow(text);
  if (read.ok) return { manifest: read.manifest, findings: checkWorkflow(read.manifest, read.yaml.locate, known) };
  const findings = read.problems.map(
    (problem): Finding => ({ ...problem, severity: 'error', cure: ERROR_CURES[problem.rule] }),
  );
  return { manifest: null, findings };
}
