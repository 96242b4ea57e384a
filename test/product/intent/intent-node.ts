import { join } from 'node:path';
import { z } from 'zod';
import { IntentStarted, IntentStatus } from '../../../usecases/intent-request.ts';
import type { Rule } from '../../support/node-config.ts';
import { BUSYBOX, type TestPodman } from '../../support/podman.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type Ask, ProductNode, type ProductOptions } from '../product-node.ts';

type Shape = Readonly<Record<string, unknown>>;

const said = (contains: string | readonly string[], reply: unknown): Rule => ({ match: { contains }, reply });

/** Parts of the prompts of the pipeline's writers, by which a rule recognises them. */
export const WRITER = 'You write one shell program';
export const FORMATTER = 'what a program printed';
export const AGENT_AUTHOR = 'You write agents.';
export const WORKFLOW_AUTHOR = 'You write workflows.';

/** The code writer of the product answers a goal with this program. */
export const writes = (goal: string | readonly string[], program: string): Rule => said([WRITER, goal].flat(), program);

/** The formatter, asked about this output. */
export const formats = (printed: string, answer: string): Rule => said([FORMATTER, printed], answer);

/** Without a matching rule the formatter fails, and every other agent gives a useless answer. */
const LAST: readonly Rule[] = [
  said(FORMATTER, { error: { status: 400, message: 'no formatter today' } }),
  { reply: 'x' },
];

const Run = z.looseObject({
  status: z.string(),
  current_state: z.string().nullable(),
  ended_at: z.string().nullable(),
  state_outputs: z.record(z.string(), z.looseObject({})),
  blackboard: z.looseObject({}),
});

const Called = z.object({ result: z.looseObject({ structuredContent: z.looseObject({}) }) });

/** The whole product with a scripted model and, given a Podman, its containers; used over its public interfaces. */
export class IntentNode implements AsyncDisposable {
  readonly node: ProductNode;

  private constructor(node: ProductNode) {
    this.node = node;
  }

  static async start(
    rules: readonly Rule[],
    given: { readonly podman?: TestPodman; readonly execute?: Shape; readonly options?: ProductOptions } = {},
  ): Promise<IntentNode> {
    const images = { python: BUSYBOX, javascript: BUSYBOX, bash: BUSYBOX };
    const node = await ProductNode.start({
      rules: [...rules, ...LAST],
      // A socket that does not exist keeps the node from using an engine of the machine.
      runtime: (directory) => ({
        container_socket_path: given.podman?.socketPath ?? join(directory, 'no-engine.sock'),
      }),
      ...given.options,
      spec: { execute: { images, generate: false, ...given.execute }, ...given.options?.spec },
    });
    return new IntentNode(node);
  }

  /** Starts a goal in the shell's language; returns the answer of the route. */
  async start(intent: string, more: Shape = {}, headers: Ask['headers'] = {}): Promise<IntentStarted> {
    const body = { intent, language: 'bash', ...more };
    const answer = await this.node.json('POST', '/v1/execute/intent', body, headers);
    if (answer.status !== 200) throw new Error(`intent: ${answer.status} ${answer.text}`);
    return IntentStarted.parse(answer.body);
  }

  async status(id: string, headers: Ask['headers'] = {}): Promise<IntentStatus> {
    return IntentStatus.parse((await this.node.call('GET', `/v1/execute/${id}`, { headers })).body);
  }

  /** Its end. */
  ended(id: string, headers: Ask['headers'] = {}): Promise<Exclude<IntentStatus, { status: 'running' }>> {
    return waitUntil(
      `pipeline ${id} ends`,
      async () => {
        const status = await this.status(id, headers);
        return status.status === 'running' ? null : status;
      },
      60_000,
    );
  }

  /** Starts a goal and returns its end. */
  async reach(intent: string, more: Shape = {}, headers: Ask['headers'] = {}) {
    return this.ended((await this.start(intent, more, headers)).pipeline_execution_id, headers);
  }

  /** Calls a tool over /mcp; returns its structured result. */
  async tool(name: string, args: object, headers: Ask['headers'] = {}): Promise<Shape> {
    const accept = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    const answer = await this.node.json('POST', '/mcp', call, { ...accept, ...headers });
    const line = answer.text.split('\n').find((one) => one.startsWith('data:'));
    const message: unknown = JSON.parse(line === undefined ? answer.text : line.slice('data:'.length));
    return Called.parse(message).result.structuredContent;
  }

  async run(id: string): Promise<z.output<typeof Run>> {
    return Run.parse((await this.node.call('GET', `/v1/workflows/executions/${id}`)).body);
  }

  /** Starts the generation; returns the execution of the author. */
  async generate(kind: 'agents' | 'workflows', input: string, headers: Ask['headers'] = {}): Promise<string> {
    const answer = await this.node.json('POST', `/v1/${kind}/generate`, { input }, headers);
    if (answer.status !== 200) throw new Error(`generate: ${answer.status} ${answer.text}`);
    return z.object({ execution_id: z.string(), status: z.literal('started') }).parse(answer.body).execution_id;
  }

  /** Starts the generation and waits for the end of the author. */
  async generated(kind: 'agents' | 'workflows', input: string, headers: Ask['headers'] = {}): Promise<Shape> {
    return this.written(await this.generate(kind, input, headers), headers);
  }

  /** The end of the author. */
  written(id: string, headers: Ask['headers'] = {}): Promise<Shape> {
    return waitUntil(
      `author ${id} ends`,
      async () => {
        const task = await this.node.statusOf(id, headers);
        return task.ended_at === null ? null : task;
      },
      60_000,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
  }
}
