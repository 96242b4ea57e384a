import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { stringify } from 'yaml';
import { startNode } from '../../../main.ts';
import { type ModelTurn, startModelServer } from '../../support/model-server.ts';
import { writeNodeConfig } from '../../support/node-config.ts';

interface NodeOptions {
  /** Blocks of `spec` besides the models: `iam`, `grpc_auth`. */
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** A manifest of an agent that talks to the model. */
export const manifest = (name: string, spec: Readonly<Record<string, unknown>> = {}): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Agent',
    metadata: { name, version: '1.0.0', description: 'for a test' },
    spec: { task: { instruction: 'Answer.', prompt_template: '{{input}}' }, ...spec },
  });

/** A whole node on SQLite and real sockets, in front of a model server whose turns the test scripts. */
export async function node({ spec = {}, env = {} }: NodeOptions = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'svc-grpc-'));
  const models = await startModelServer();
  const provider = {
    name: 'local',
    type: 'openai-compatible',
    endpoint: `${models.url}/v1`,
    models: [{ alias: 'default', model: 'some-model' }],
  };
  const config = await writeNodeConfig(directory, { llm_providers: [provider], ...spec });
  const logged: string[] = [];
  const started = await startNode({
    flags: { config, data: join(directory, 'data'), 'http-port': '0', 'grpc-port': '0' },
    env,
    logger: pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) }),
  });
  const stop = async (): Promise<void> => {
    await started.stop();
    await models.stop();
    await rm(directory, { recursive: true, force: true });
  };
  return {
    address: started.grpcAddress,
    restUrl: started.restUrl,
    logged,
    stopNode: () => started.stop(),
    /** Answers of the model, in order; the last one stays. */
    script: (...turns: readonly ModelTurn[]) => models.script(...turns),
    modelCalls: models.calls,
    /** Deploys over REST; returns the agent's id. */
    async deploy(yaml: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
      const response = await fetch(`${started.restUrl}/v1/agents`, {
        method: 'POST',
        body: yaml,
        headers: { 'content-type': 'application/yaml', ...headers },
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`deploy: ${response.status} ${text}`);
      return String(JSON.parse(text).agent_id);
    },
    [Symbol.asyncDispose]: stop,
  };
}

export type TestNode = Awaited<ReturnType<typeof node>>;
