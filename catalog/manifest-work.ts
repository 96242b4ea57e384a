import { parentPort } from 'node:worker_threads';
import { agentFindings, parseDeployableAgent } from '../manifests/agent/parse.ts';
import type { AgentManifest } from '../manifests/agent/schema.ts';
import { type RuntimeTable, runtimeWarnings } from '../manifests/runtime-table/table.ts';
import type { Parsed } from '../manifests/schema-problems.ts';
import { checkWorkflow, type Known } from '../manifests/workflow/check/check-workflow.ts';
import type { KnownStorage } from '../manifests/workflow/check/flow.ts';
import type { Finding } from '../manifests/workflow/finding.ts';
import { type ProblemRule, parseWorkflowManifest, readWorkflow } from '../manifests/workflow/parse.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import { tellingText } from './search/telling-text.ts';

/** Agents and workflows named in a workflow, and which of them are deployed, as values that can be sent to a thread. */
export interface KnownToChecker {
  readonly agents: readonly string[];
  /** Children by the name with which they are started; null: not all were looked up. */
  readonly workflows: ReadonlyMap<string, WorkflowManifest> | null;
  readonly storage?: KnownStorage | undefined;
}

export interface CheckedWorkflow {
  /** Null when there are errors. */
  readonly manifest: WorkflowManifest | null;
  readonly findings: readonly Finding[];
}

/** How to fix each kind of error. */
export const ERROR_CURES: Readonly<Record<ProblemRule, string>> = {
  invalid_yaml: 'Correct the YAML at this place.',
  invalid_field: 'Write what is expected; docs/reference/workflow-manifest.md has every field with its rule.',
  unknown_state: 'Correct the name, or add the state under spec.states.',
  unknown_volume: 'Correct the name, or declare the volume under spec.storage.shared_volumes.',
};

type Texted<Kind extends string> = { readonly kind: Kind; readonly text: string };

/** Work on the text of a manifest, as a value that can be sent to a thread. */
export type ManifestQuestion =
  | Texted<'workflow' | 'words'>
  | (Texted<'agent'> & { readonly maxSizeLimitMb?: number | undefined })
  | (Texted<'agent warnings'> & {
      readonly runtimes: RuntimeTable | null;
      readonly models: readonly string[];
      readonly storage?: KnownStorage | undefined;
    })
  | (Texted<'workflow findings'> & { readonly known: KnownToChecker });

export type ManifestAnswer =
  | { readonly kind: 'agent'; readonly value: Parsed<AgentManifest> }
  | { readonly kind: 'workflow'; readonly value: Parsed<WorkflowManifest> }
  | { readonly kind: 'words'; readonly value: string }
  | { readonly kind: 'agent warnings'; readonly value: Finding[] }
  | { readonly kind: 'workflow findings'; readonly value: readonly Finding[] };

/** Pure. A manifest of the largest size takes a second of CPU. */
export function answerOf(question: ManifestQuestion): ManifestAnswer {
  const { kind, text } = question;
  switch (kind) {
    case 'agent':
      return { kind, value: parseDeployableAgent(text, question.maxSizeLimitMb) };
    case 'workflow':
      return { kind, value: parseWorkflowManifest(text) };
    case 'words':
      return { kind, value: tellingText(text) };
    case 'agent warnings': {
      const ofRuntime = question.runtimes === null ? [] : runtimeWarnings(text, question.runtimes);
      return { kind, value: [...ofRuntime, ...agentFindings(text, question.models, question.storage)] };
    }
    case 'workflow findings':
      return { kind, value: validateWorkflow(text, knownOf(question.known)).findings };
  }
}

function knownOf({ agents, workflows, storage }: KnownToChecker): Known {
  const named = new Set(agents);
  return {
    agents: (name) => named.has(name),
    ...(workflows === null ? {} : { workflows: (name) => workflows.get(name) }),
    storage,
  };
}

/**
 * All findings about a workflow manifest, in the order of its lines: errors where it violates the format (W1–W16), and
 * warnings, which are given only when there are no errors. Never throws.
 */
export function validateWorkflow(text: string, known: Known = {}): CheckedWorkflow {
  const read = readWorkflow(text);
  if (read.ok) return { manifest: read.manifest, findings: checkWorkflow(read.manifest, read.yaml.locate, known) };
  const findings = read.problems.map(
    (problem): Finding => ({ ...problem, severity: 'error', cure: ERROR_CURES[problem.rule] }),
  );
  return { manifest: null, findings };
}

parentPort?.on('message', (question: ManifestQuestion) => parentPort?.postMessage(answerOf(question)));
