import { chown, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { removeTree } from '../../effects/volumes/tree.ts';
import { writeNodeConfig, writeScriptedModel } from '../support/node-config.ts';
import { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';

const VERDICT = '{"score": 1, "confidence": 1, "reasoning": "It is good as it is."}';

/** Answers of the scripted model. The input of an execution contains a word that selects how long the execution runs. */
const RULES = [
  { match: { contains: 'slow' }, reply: { text: words(100), chunks: 100, delay_ms: 50 } },
  { match: { contains: 'sleepy' }, reply: { text: words(2), chunks: 2, delay_ms: 30_000 } },
  { match: { contains: 'steady' }, reply: { text: words(20), chunks: 20, delay_ms: 30 } },
  { match: { contains: 'unavailable' }, reply: { error: { status: 503 } } },
  { match: { contains: 'unpaid' }, reply: { error: { status: 401, message: 'no credit' } } },
  { match: { contains: 'verdict' }, reply: { text: VERDICT } },
  { reply: 'done' },
];

function words(count: number): string {
  return Array.from({ length: count }, (_word, at) => `word${at}`).join(' ');
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed when it is JSON. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Ask {
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ProductOptions {
  /** Of the scripted model, instead of those above. */
  readonly rules?: readonly object[];
  /** Blocks of `spec` besides the model and the log level. */
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Further entries of `spec.llm_providers`. */
  readonly providers?: readonly object[];
  /** `spec.runtime`, given the node's directory. */
  readonly runtime?: (directory: string) => object;
  /** Programs to put into the node's directory, by file name. */
  readonly programs?: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
  /** Default: a private directory that is removed in the end. */
  readonly dataDir?: string;
  /** A descriptor that the log goes to; default: a pipe that is read. */
  readonly stderr?: number;
  /** Whom it runs as; its directory is that user's. Default: the user of the tests. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** A manifest of an agent that talks to the scripted model, or runs a program. */
export const agentYaml = (name: string, spec: Readonly<Record<string, unknown>> = {}, version = '1.0.0'): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Agent',
    metadata: { name, version, description: 'for a test' },
    spec: { task: { prompt_template: '{{input}}' }, ...spec },
  });

/** The product as a user starts it, `node main.ts --config svc.yaml`, with a scripted model; spoken to over sockets. */
export class ProductNode implements AsyncDisposable {
  readonly directory: string;
  readonly process: NodeProcess;
  #url = '';

  private constructor(directory: string, { dataDir = join(directory, 'data'), env, stderr, user }: ProductOptions) {
    this.directory = directory;
    this.process = new NodeProcess(
      ['--data', dataDir, '--config', join(directory, 'svc.yaml')],
      env,
      stderr,
      undefined,
      user,
    );
  }

  static async start(options: ProductOptions = {}): Promise<ProductNode> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-product-'));
    const { rules = RULES, providers = [], runtime = () => ({}), programs = {}, user } = options;
    for (const [name, text] of Object.entries(programs)) await writeFile(join(directory, name), text, { mode: 0o755 });
    await writeNodeConfig(directory, {
      observability: { logging: { level: 'warn' } },
      llm_providers: [await writeScriptedModel(directory, rules), ...providers],
      runtime: runtime(directory),
      ...options.spec,
    });
    if (user !== undefined) await chown(directory, user.uid, user.gid);
    const node = new ProductNode(directory, options);
    await node.spawn();
    return node;
  }

  /** Starts it, also once more on the same data; resolves when it listens. */
  async spawn(): Promise<void> {
    this.process.spawn();
    this.#url = await this.process.url;
  }

  get url(): string {
    return this.#url;
  }

  get port(): number {
    return Number(new URL(this.#url).port);
  }

  async call(method: string, path: string, { body, headers = {} }: Ask = {}): Promise<Answer> {
    const response = await fetch(`${this.#url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: objectOf(text) };
  }

  /** With `body` as JSON, or without one. */
  json(method: string, path: string, body: unknown, headers: Ask['headers'] = {}): Promise<Answer> {
    if (body === undefined) return this.call(method, path, { headers });
    return this.call(method, path, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  /** Body of the answer to a call that must succeed. */
  async succeed(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.json(method, path, body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Deploys and returns the agent's id. */
  async deploy(yaml: string, headers: Ask['headers'] = {}): Promise<string> {
    const type = { 'content-type': 'application/yaml' };
    const answer = await this.call('POST', '/v1/agents?force=true', { body: yaml, headers: { ...type, ...headers } });
    if (answer.status !== 200) throw new Error(`deploy: ${answer.status} ${answer.text}`);
    return String(answer.body.agent_id);
  }

  /** Starts an execution and returns its id. */
  async run(agentId: string, input: string, headers: Ask['headers'] = {}): Promise<string> {
    const answer = await this.json('POST', '/v1/executions', { agent_id: agentId, input }, headers);
    if (answer.status !== 200) throw new Error(`start: ${answer.status} ${answer.text}`);
    return String(answer.body.execution_id);
  }

  /** Deploys a workflow, starts it and returns the id of its execution. */
  async runWorkflow(yaml: string): Promise<string> {
    const headers = { 'content-type': 'application/yaml' };
    const deployed = await this.call('POST', '/v1/workflows', { body: yaml, headers });
    if (deployed.status !== 200) throw new Error(`deploy: ${deployed.status} ${deployed.text}`);
    const started = await this.json('POST', `/v1/workflows/${deployed.body.workflow_id}/run`, {});
    if (started.status !== 200) throw new Error(`run: ${started.status} ${started.text}`);
    return String(started.body.execution_id);
  }

  /** Resolves when all these executions have completed. */
  async completed(ids: readonly string[], timeoutMs = 40_000): Promise<void> {
    await waitUntil(
      `${ids.length} executions complete`,
      async () => {
        const all = await Promise.all(ids.map((id) => this.statusOf(id)));
        return all.every(({ status }) => status === 'completed');
      },
      timeoutMs,
    );
  }

  async statusOf(executionId: string, headers: Ask['headers'] = {}): Promise<Answer['body']> {
    return (await this.call('GET', `/v1/executions/${executionId}`, { headers })).body;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill('SIGKILL');
    await removeTree(this.directory);
  }
}

export function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
