import { stringify } from 'yaml';
import { z } from 'zod';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, ProductNode, type ProductOptions } from './product-node.ts';
import { OTHERWISE, RULES } from './random/script.ts';

type Shape = Readonly<Record<string, unknown>>;

const judged = (score: number) =>
  JSON.stringify({ score, confidence: 0.9, reasoning: `it is worth ${score}`, extra: { color: 'red' } });

/** Answers of agents and judges of these tests, by their input. */
const SPEC_RULES = [
  { match: { contains: 'score-high' }, reply: judged(0.9) },
  { match: { contains: 'score-edge' }, reply: judged(0.7) },
  { match: { contains: 'score-low' }, reply: judged(0.2) },
  { match: { contains: 'no-json' }, reply: 'I like it' },
  { match: { contains: 'break' }, reply: { error: { status: 400, message: 'no' } } },
  ...RULES,
  { reply: OTHERWISE },
];

const Execution = z.looseObject({
  execution_id: z.string(),
  status: z.string(),
  current_state: z.string().nullable(),
  reason: z.string().nullable(),
  outcome: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string(), cause: z.string().nullable() }).nullable(),
  blackboard: z.record(z.string(), z.unknown()),
  state_outputs: z.record(z.string(), z.looseObject({ status: z.string() })),
});
export type Execution = z.output<typeof Execution>;

const LogPage = z.object({
  events: z.array(
    z.object({
      sequence: z.number(),
      event_type: z.string(),
      state_name: z.string().nullable(),
      payload: z.record(z.string(), z.unknown()),
    }),
  ),
  total: z.number(),
  limit: z.number(),
});

const Ids = z.object({ workflow_id: z.string() });
const Started = z.object({ execution_id: z.string(), status: z.literal('started') });
const Approvals = z.object({ pending_requests: z.array(z.looseObject({ id: z.string(), execution_id: z.string() })) });

/** A state that ends the run with this output. */
export const finalize = (env: Shape = {}) => ({ kind: 'System', command: 'finalize', env, transitions: [] });
/** DONE after a success, FAILED after a failure. */
export const BY_STATUS = [
  { condition: 'on_success', target: 'DONE' },
  { condition: 'on_failure', target: 'FAILED' },
];
/** The outcomes that `BY_STATUS` leads to. */
export const ENDS = { DONE: finalize({ outcome: 'done' }), FAILED: finalize({ outcome: 'failed' }) };

/** The whole product, used like a user of workflows does. */
export class SpecWorkflowNode implements AsyncDisposable {
  readonly node: ProductNode;
  #deployed = 0;

  private constructor(node: ProductNode) {
    this.node = node;
  }

  static async start(options: ProductOptions = {}): Promise<SpecWorkflowNode> {
    const node = await ProductNode.start({ rules: SPEC_RULES, ...options });
    await node.deploy(agentYaml('writer'));
    return new SpecWorkflowNode(node);
  }

  /** Deploys under a fresh name, or the given one; returns the workflow's id. */
  async deploy(states: Shape, spec: Shape = {}, metadata: Shape = {}): Promise<string> {
    this.#deployed += 1;
    const body = stringify({
      apiVersion: 'svc.dev/v1',
      kind: 'Workflow',
      metadata: { name: `spec-${this.#deployed}`, version: '1.0.0', ...metadata },
      spec: { initial_state: Object.keys(states)[0], states, ...spec },
    });
    const headers = { 'content-type': 'application/yaml' };
    const answer = await this.node.call('POST', '/v1/workflows', { body, headers });
    if (answer.status !== 200) throw new Error(`deploy: ${answer.status} ${answer.text}`);
    return Ids.parse(answer.body).workflow_id;
  }

  async start(workflow: string, body: Shape = {}): Promise<string> {
    const answer = await this.node.json('POST', `/v1/workflows/${workflow}/run`, body);
    if (answer.status !== 200) throw new Error(`run: ${answer.status} ${answer.text}`);
    return Started.parse(answer.body).execution_id;
  }

  async get(id: string): Promise<Execution> {
    return Execution.parse((await this.node.call('GET', `/v1/workflows/executions/${id}`)).body);
  }

  /** Resolves with the execution when the condition is true. */
  until(id: string, what: string, holds: (execution: Execution) => boolean): Promise<Execution> {
    return waitUntil(
      `execution ${id} ${what}`,
      async () => {
        const seen = Execution.safeParse((await this.node.call('GET', `/v1/workflows/executions/${id}`)).body);
        return seen.success && holds(seen.data) && seen.data;
      },
      30_000,
    );
  }

  ended(id: string): Promise<Execution> {
    return this.until(id, 'to end', ({ status }) => ['completed', 'failed', 'cancelled'].includes(status));
  }

  /** Deploys, runs to the end. */
  async run(states: Shape, more: { readonly spec?: Shape; readonly body?: Shape } = {}): Promise<Execution> {
    return this.ended(await this.start(await this.deploy(states, more.spec), more.body));
  }

  async logs(id: string, query = ''): Promise<z.output<typeof LogPage>> {
    return LogPage.parse((await this.node.call('GET', `/v1/workflows/executions/${id}/logs${query}`)).body);
  }

  /** The approval that an execution waits for. */
  async approvalOf(id: string): Promise<string> {
    await this.until(id, 'to wait for a human', ({ status }) => status === 'waiting_for_human_input');
    return waitUntil('its approval to be listed', async () => {
      const { pending_requests } = Approvals.parse((await this.node.call('GET', '/v1/human-approvals')).body);
      return pending_requests.find(({ execution_id }) => execution_id === id)?.id ?? false;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
  }
}
