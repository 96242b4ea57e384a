import type { AgentManifest } from '../manifests/agent/schema.ts';
import type { RuntimeTable } from '../manifests/runtime-table/table.ts';
import type { Parsed } from '../manifests/schema-problems.ts';
import type { KnownStorage } from '../manifests/workflow/check/flow.ts';
import type { Finding } from '../manifests/workflow/finding.ts';
import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import { SvcError } from '../runtime/errors.ts';
import { WorkerThread } from '../runtime/kit/worker-thread.ts';
import { answerOf, type KnownToChecker, type ManifestAnswer, type ManifestQuestion } from './manifest-work.ts';

/** A longer text is read on a thread: reading the largest takes a second of CPU, in which no other call is served. */
const HERE_CHARS = 8 * 1024;
/** Maximum number of texts that wait for the thread; each has at most a mebibyte. */
const MOST_WAITING = 64;
const MAX_HEAP_MB = 512;

/** The one thread of the process for manifests. */
const thread = new WorkerThread<ManifestQuestion, ManifestAnswer>({
  from: import.meta,
  module: 'manifest-work',
  mostWaiting: MOST_WAITING,
  maxHeapMb: MAX_HEAP_MB,
  lost: 'The manifest could not be read.',
});

/** Like `parseDeployableAgent`. These functions also throw `overloaded` and `unavailable`. */
export async function readAgentManifest(text: string, maxSizeLimitMb?: number): Promise<Parsed<AgentManifest>> {
  const answer = await answered({ kind: 'agent', text, maxSizeLimitMb });
  return answer.kind === 'agent' ? answer.value : notThat(answer);
}

/** Like `parseWorkflowManifest`. */
export async function readWorkflowManifest(text: string): Promise<Parsed<WorkflowManifest>> {
  const answer = await answered({ kind: 'workflow', text });
  return answer.kind === 'workflow' ? answer.value : notThat(answer);
}

/** Known facts that a deployment is compared with. */
export interface KnownToDeploy {
  /** Null: languages and versions are not checked. */
  readonly runtimes: RuntimeTable | null;
  /** Aliases of models that nodes have; empty: nothing is known of them. */
  readonly models: readonly string[];
  /** The node's support for volumes; absent: sizes are not checked. */
  readonly storage?: KnownStorage | undefined;
}

/** Warnings of a deploy (`agentFindings`), and those about its runtime if a table is given. Never refuses a deploy. */
export async function agentWarnings(text: string, { runtimes, models, storage }: KnownToDeploy): Promise<Finding[]> {
  const answer = await answered({ kind: 'agent warnings', text, runtimes, models, storage });
  return answer.kind === 'agent warnings' ? answer.value : notThat(answer);
}

/** What a check of an agent manifest found. */
interface AgentValidation {
  readonly valid: boolean;
  readonly findings: readonly Finding[];
  /** Absent when it is not valid. */
  readonly metadata?: { readonly name: string; readonly version: string };
}

/** The findings of a deployment of this agent manifest. Never throws for an invalid text. */
export async function validateAgent(text: string, known: KnownToDeploy): Promise<AgentValidation> {
  const read = await readAgentManifest(text, known.storage?.maxSizeLimitMb);
  if (!read.ok) {
    const cure = 'Correct it as the message says; docs/reference/agent-manifest.md has all fields.';
    const findings = read.problems.map((problem): Finding => ({ ...problem, rule: 'form', severity: 'error', cure }));
    return { valid: false, findings };
  }
  const { name, version } = read.manifest.metadata;
  return { valid: true, findings: await agentWarnings(text, known), metadata: { name, version } };
}

/** Like `validateWorkflow`. */
export async function workflowFindings(text: string, known: KnownToChecker): Promise<readonly Finding[]> {
  const answer = await answered({ kind: 'workflow findings', text, known });
  return answer.kind === 'workflow findings' ? answer.value : notThat(answer);
}

/** Like `tellingText`. */
export async function wordsOfManifest(text: string): Promise<string> {
  const answer = await answered({ kind: 'words', text });
  return answer.kind === 'words' ? answer.value : notThat(answer);
}

async function answered(question: ManifestQuestion): Promise<ManifestAnswer> {
  return question.text.length <= HERE_CHARS ? answerOf(question) : thread.ask(question);
}

function notThat({ kind }: ManifestAnswer): never {
  throw new SvcError('internal', `the thread for manifests answered "${kind}" to another question`);
}
