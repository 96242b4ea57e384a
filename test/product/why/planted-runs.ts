import assert from 'node:assert/strict';
import { stringify } from 'yaml';
import { z } from 'zod';
import { svc } from '../../cli/svc-run.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, type ProductNode } from '../product-node.ts';

const Link = z.looseObject({ kind: z.string(), id: z.string().nullable(), reason: z.string() });

export const Why = z.object({ waiting: z.boolean(), sentence: z.string(), chain: z.array(Link) });

export type Why = z.output<typeof Why>;

/** A run that waits: of an agent or of a workflow. */
export interface Planted {
  readonly kind: 'agent' | 'workflow';
  readonly id: string;
}

/** The expected last link: patterns for texts, other values as they are. */
type LastLink = { readonly kind: string } & Readonly<Record<string, unknown>>;

export interface Cause {
  readonly name: string;
  /** An agent that waits, or the state of a workflow that waits. */
  readonly agent?: Readonly<Record<string, unknown>>;
  readonly state?: Readonly<Record<string, unknown>>;
  /** Annotations of the workflow with that state. */
  readonly annotations?: Readonly<Record<string, string>>;
  readonly last: LastLink;
  readonly sentence: RegExp;
  /** Agent or workflow of another cause that it names, which is deployed before. */
  readonly namesOthers?: true;
  /** How the waiting agent is nested three deep: as the judge of a child, or as the child of a child. */
  readonly nest?: 'judge' | 'children';
}

const TO_END = [{ condition: 'always', target: 'END' }];

export const workflowYaml = (name: string, state: object, annotations: Cause['annotations'] = {}): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0', annotations },
    spec: {
      initial_state: 'STEP',
      states: {
        STEP: { timeout: '1h', transitions: TO_END, ...state },
        END: { kind: 'System', command: 'finalize', transitions: [] },
      },
    },
  });

const iterative = (judge: string) => ({
  task: { prompt_template: 'draft {{input}}' },
  execution: { mode: 'iterative', max_iterations: 3, validation: [{ type: 'semantic', judge_agent: judge }] },
});

/** Deploys a run that waits for a cause, and starts it as a single run. */
export async function plantAlone(node: ProductNode, { name, agent, state, annotations }: Cause): Promise<Planted> {
  if (agent !== undefined) {
    return { kind: 'agent', id: await node.run(await node.deploy(agentYaml(name, agent)), 'x') };
  }
  return { kind: 'workflow', id: await node.runWorkflow(workflowYaml(name, state ?? {}, annotations)) };
}

/**
 * Starts a deployed run that waits, three runs deep: a workflow with a child whose judge waits, or a workflow with a
 * child with a child that waits.
 */
export async function plantNested(node: ProductNode, { name, agent, nest = 'judge' }: Cause): Promise<Planted> {
  if (agent !== undefined && nest === 'judge') {
    await node.deploy(agentYaml(`${name}-judged`, iterative(name)));
    const outer = workflowYaml(`${name}-outer`, { kind: 'Agent', agent: `${name}-judged`, input: 'x' });
    return { kind: 'workflow', id: await node.runWorkflow(outer) };
  }
  const middle =
    agent === undefined ? { kind: 'Subworkflow', workflow_id: name } : { kind: 'Agent', agent: name, input: 'x' };
  await deployWorkflow(node, workflowYaml(`${name}-middle`, middle));
  const outer = workflowYaml(`${name}-outer`, { kind: 'Subworkflow', workflow_id: `${name}-middle` });
  return { kind: 'workflow', id: await node.runWorkflow(outer) };
}

async function deployWorkflow(node: ProductNode, body: string): Promise<void> {
  const answer = await node.call('POST', '/v1/workflows', { body, headers: { 'content-type': 'application/yaml' } });
  assert.equal(answer.status, 200, answer.text);
}

const pathOf = ({ kind, id }: Planted): string =>
  `/v1/${kind === 'agent' ? 'executions' : 'workflows/executions'}/${id}/why`;

/** Limit for the explanation of a run. */
const WITHIN_MS = 1_000;
const MORE_TRIES = 10;

async function overRest(node: ProductNode, planted: Planted): Promise<Why & { readonly ms: number }> {
  const startedAt = performance.now();
  const { body } = await node.call('GET', pathOf(planted));
  return { ...Why.parse(body), ms: performance.now() - startedAt };
}

async function overTool(node: ProductNode, { id }: Planted): Promise<Why> {
  const { body } = await node.json('POST', '/v1/tools/svc.trace.why', { execution_id: id });
  return Why.parse(z.looseObject({ structuredContent: z.unknown() }).parse(body).structuredContent);
}

async function overCli(node: ProductNode, { id }: Planted): Promise<Why> {
  const { stdout, stderr } = await svc(['--url', node.url, '--output', 'json', 'why', id]);
  assert.equal(stderr, '');
  return Why.parse(JSON.parse(stdout));
}

/** Whether the last link is the expected one. */
function isLast({ chain }: Why, expected: LastLink): boolean {
  const last = chain.at(-1) ?? {};
  const members = new Map<string, unknown>(Object.entries(last));
  return Object.entries(expected).every(([key, wanted]) => {
    const value = members.get(key);
    return wanted instanceof RegExp ? wanted.test(JSON.stringify(value) ?? '') : value === wanted;
  });
}

/** Waits until the run names its cause as the last link over REST, then over the tool and the command line. */
export async function assertExplained(
  node: ProductNode,
  planted: Planted,
  { name, last, sentence }: Pick<Cause, 'name' | 'last' | 'sentence'>,
  views: readonly ('tool' | 'cli')[] = ['tool', 'cli'],
): Promise<Why> {
  let seen: (Why & { readonly ms: number }) | undefined;
  const found = await waitUntil(
    `${name} to be the last cause`,
    async () => {
      seen = await overRest(node, planted);
      return isLast(seen, last) && seen;
    },
    30_000,
  ).catch((thrown: unknown) => {
    throw new Error(`${name}: ${JSON.stringify(seen, null, 1)}`, { cause: thrown });
  });
  let quickest = found.ms;
  // Beside other work one answer may take long; an explanation that is always slow is slow each time.
  for (let more = 0; more < MORE_TRIES && (more === 0 || quickest >= WITHIN_MS); more += 1)
    quickest = Math.min(quickest, (await overRest(node, planted)).ms);
  assert.ok(quickest < WITHIN_MS, `${name}: explained in ${quickest} ms`);
  assert.match(found.sentence, sentence);
  assert.equal(found.waiting, true);
  await Promise.all(
    views.map(async (view) => {
      // On a busy machine an explanation whose reads take too long names the store instead.
      const named = await waitUntil(`${name} to be the last cause over the ${view}`, async () => {
        const answer = await (view === 'tool' ? overTool(node, planted) : overCli(node, planted));
        return isLast(answer, last) && answer;
      });
      assert.match(named.sentence, sentence);
    }),
  );
  return found;
}

/** Runs of a chain: the run itself, its children and judges. */
export const runsIn = ({ chain }: Why): readonly string[] =>
  chain.flatMap(({ kind }) => (['execution', 'workflow', 'child', 'judge'].includes(kind) ? [kind] : []));
