import { randomUUID } from 'node:crypto';
import { stringify } from 'yaml';
import { type NodeOnStores, openNodeOnStores } from '../../kill/node-on-stores.ts';
import type { StoreKind } from '../../kill/stores.ts';
import { objectOf } from '../../product/product-node.ts';
import { ModelServer, type RecordedCall } from '../../support/model-server.ts';
import type { NodeProcess } from '../../support/node-process.ts';
import { stillUnderWay } from './quiet.ts';

/** Page size of each list. */
const MOST_LISTED = 50;

type Headers = Readonly<Record<string, string>>;

interface Reply {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A node process in front of a model server with the aliases `one` and `two`, for cases with many callers. */
export class CrowdedNode {
  readonly models: ModelServer;
  readonly process: NodeProcess;
  readonly url: string;
  readonly #opened: NodeOnStores;

  private constructor(models: ModelServer, opened: NodeOnStores, url: string) {
    this.models = models;
    this.process = opened.node;
    this.url = url;
    this.#opened = opened;
  }

  /** `env` and `main` start a process with probes in it, or another version. */
  static async start(
    store: StoreKind,
    spec: Readonly<Record<string, unknown>> = {},
    { env = {}, main }: { readonly env?: NodeJS.ProcessEnv; readonly main?: string } = {},
  ): Promise<CrowdedNode> {
    const models = new ModelServer();
    await models.start();
    const aliases = ['one', 'two'].map((alias) => ({ alias, model: alias }));
    const provider = { name: 'fake', type: 'openai-compatible', endpoint: `${models.url}/v1`, models: aliases };
    const whole = { observability: { logging: { level: 'warn' } }, llm_providers: [provider], ...spec };
    const opened = await openNodeOnStores(store, { spec: () => whole, env, main });
    opened.node.spawn();
    return new CrowdedNode(models, opened, await opened.node.url);
  }

  async call(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    const type = typeof body === 'string' ? 'application/yaml' : 'application/json';
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': type }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, body: objectOf(await answer.text()) };
  }

  /** Deploys an agent that asks a model, with `alias`. Answers its id. */
  async agent(name: string, alias: 'one' | 'two', headers: Headers = {}): Promise<string> {
    const yaml = stringify({
      apiVersion: 'svc.dev/v1',
      kind: 'Agent',
      metadata: { name, version: '1.0.0', description: 'for a fault' },
      spec: { task: { prompt_template: '{{input}}' }, runtime: { model: alias } },
    });
    const { status, body } = await this.call('POST', '/v1/agents?force=true', yaml, headers);
    if (status !== 200) throw new Error(`deploy: ${status} ${JSON.stringify(body)}`);
    return String(body.agent_id);
  }

  /** Starts a run, whose model is asked with `input`; null when it was refused. */
  async start(agentId: string, input: string, headers: Headers = {}): Promise<string | null> {
    const { status, body } = await this.call('POST', '/v1/executions', { agent_id: agentId, input }, headers);
    return status === 200 ? String(body.execution_id) : null;
  }

  /** Runs that the liveness check finds still under way; `ended`: ids of the runs that have ended. */
  stillUnderWay(sinceMs: number, ended: readonly string[], callers?: readonly Headers[]): Promise<string[]> {
    const { location } = this.#opened;
    // The list of this many runs is long, so each run is read by its id.
    return stillUnderWay(sinceMs, { location, url: this.url, ended, callers, mostListed: MOST_LISTED });
  }

  async statusOf(id: string, headers: Headers = {}): Promise<Reply['body']> {
    return (await this.call('GET', `/v1/executions/${id}`, undefined, headers)).body;
  }

  async close(): Promise<void> {
    await this.#opened[Symbol.asyncDispose]();
    await this.models.stop();
  }
}

/** A key for the input of one run, by which the model server recognises the run. */
export const freshKey = (): string => `key-${randomUUID()}`;

/** The key of the run that a model call is for. */
export const keyIn = ({ body }: Pick<RecordedCall, 'body'>): string =>
  /key-[0-9a-f-]{36}/.exec(JSON.stringify(body))?.[0] ?? '';

/** Makes this number of calls, `atOnce` at a time. */
export async function inLanes<T>(count: number, atOnce: number, call: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      results.push(await call(next));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return results;
}
