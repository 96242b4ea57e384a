import { join } from 'node:path';
import { scriptedModel } from './node-config.ts';

/** Folder of the examples. */
export const EXAMPLES = join(import.meta.dirname, '..', '..', 'examples', 'workflows');

/** What an example needs besides a node. */
type Need = 'containers' | 'model';

export type Start =
  | {
      readonly by: 'run';
      readonly input?: Readonly<Record<string, unknown>>;
      readonly intent?: string;
      readonly blackboard?: Readonly<Record<string, unknown>>;
    }
  /** A delivery of `source`, signed with `WEBHOOK_SECRET`; its route has to name the workflow. */
  | {
      readonly by: 'webhook';
      readonly source: string;
      readonly body: string;
      readonly headers: Readonly<Record<string, string>>;
    };

export interface WorkflowExample {
  /** Its folder, and the name of its workflow. */
  readonly name: string;
  readonly needs: readonly Need[];
  /** In this order; paths from `EXAMPLES`. The last one is the workflow that is started. */
  readonly deploy: readonly { readonly kind: 'agent' | 'workflow'; readonly file: string }[];
  readonly start: Start;
  /** One for each approval, in the order in which they are asked for. */
  readonly answers: readonly { readonly verdict: 'approve' | 'reject'; readonly text: string }[];
}

export const WEBHOOK_SECRET = 'example-secret';

/** Environment of a node on which all examples run. */
export const EXAMPLE_ENV: Readonly<Record<string, string>> = {
  SVC_WEBHOOK_SECRET_EXAMPLE_FORGE: WEBHOOK_SECRET,
};

const script = join(EXAMPLES, 'refine-with-judges', 'answers.yaml');

/** `spec` of a node on which all examples run; those with containers need an engine besides (`DOCKER_HOST`). */
export const EXAMPLE_SPEC = { llm_providers: [scriptedModel(script)] };

const workflow = (file: string) => ({ kind: 'workflow', file }) as const;
const agent = (file: string) => ({ kind: 'agent', file }) as const;

function example(
  name: string,
  {
    needs = [],
    before = [],
    start = { by: 'run' },
    answers = [],
  }: Partial<WorkflowExample> & { before?: WorkflowExample['deploy'] },
): WorkflowExample {
  return { name, needs, deploy: [...before, workflow(`${name}/workflow.yaml`)], start, answers };
}

/** Every example, started as its header says. Outputs are the same each time, after `normalise`. */
export const WORKFLOW_EXAMPLES: readonly WorkflowExample[] = [
  example('approval-gate', { answers: [{ verdict: 'approve', text: 'go ahead' }] }),
  example('batch-loop', {}),
  example('build-and-test', { needs: ['containers'] }),
  example('checks-in-parallel', { needs: ['containers'] }),
  example('data-job', {}),
  example('on-webhook', {
    start: {
      by: 'webhook',
      source: 'example-forge',
      body: 'on-webhook/push.json',
      headers: { 'content-type': 'application/json', 'x-delivery': '7' },
    },
  }),
  example('parent-with-children', {
    before: ['count-words', 'keep-note'].map((name) => workflow(`parent-with-children/children/${name}.yaml`)),
  }),
  example('refine-with-judges', {
    needs: ['model'],
    before: ['writer', 'judge-clarity', 'judge-facts', 'judge-length'].map((name) =>
      agent(`refine-with-judges/agents/${name}.yaml`),
    ),
  }),
  // Each run keeps a volume of its own: delete the one that its output names.
  example('release', { needs: ['containers'], start: { by: 'run', input: { version: '1.0.0' } } }),
  example('retry-with-backoff', { needs: ['containers'] }),
];

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/**
 * A blackboard (or output) without the values that differ between two runs of an example: ids become `<id 1>`, `<id 2>` in the
 * order of their first appearance (so the same id stays the same), durations 0, times and ports a word.
 */
export function normalise(value: unknown): unknown {
  const ids = new Map<string, string>();
  const idOf = (uuid: string): string => {
    const known = ids.get(uuid) ?? `<id ${ids.size + 1}>`;
    ids.set(uuid, known);
    return known;
  };
  const inText = (text: string): string =>
    text
      .replace(UUID, idOf)
      .replace(/\bduration_ms(:?) [\d.]+/g, 'duration_ms$1 0')
      .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replace(/\b127\.0\.0\.1:\d+/g, '127.0.0.1:<port>');
  const inValue = (given: unknown, key = ''): unknown => {
    if (typeof given === 'string') return inText(given);
    if (typeof given === 'number' && key === 'duration_ms') return 0;
    if (Array.isArray(given)) return given.map((item) => inValue(item));
    if (typeof given !== 'object' || given === null) return given;
    const entries = Object.entries(given).sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(entries.map(([name, inner]) => [name, inValue(inner, name)]));
  };
  return inValue(value);
}
