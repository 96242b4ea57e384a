/**
 * Keeps the compiled code of a node's script (cli/start/node-program.ts) once it has served the calls that most tests make: the
 * nodes of a run compile few functions then. Its argument is the directory of the built programs (built-programs.ts). It has to
 * run with the options of V8 that those nodes have, or else they refuse the code.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { nodeProgram } from '../../cli/start/node-program.ts';
import { freePort } from './free-port.ts';
import { writeNodeConfig, writeScriptedModel } from './node-config.ts';
import { waitUntil } from './wait-until.ts';

const about = {
  apiVersion: 'svc.dev/v1',
  metadata: { name: 'first', version: '1.0.0', description: 'first of a run' },
};
const END = { kind: 'System', command: 'finalize', transitions: [] };
const ONE = {
  ...{ kind: 'Agent', agent: 'first', input: '{{input}}', isolation: 'inherit' },
  transitions: [{ condition: 'always', target: 'END' }],
};
const AGENT = stringify({ ...about, kind: 'Agent', spec: { task: { prompt_template: '{{input}}' } } });
const WORKFLOW = stringify({ ...about, kind: 'Workflow', spec: { initial_state: 'ONE', states: { ONE, END } } });

const [, , programs] = process.argv;
if (programs === undefined) throw new Error('usage: keep-compiled.ts DIRECTORY');
const loaded: { readonly nodeProgram: typeof nodeProgram } = await import(
  join(programs, 'cli', 'start', 'node-program.js')
);
const directory = await mkdtemp(join(tmpdir(), 'svc-compiled-'));
const [port, grpcPort] = [await freePort(), await freePort()];

async function call(method: string, path: string, body?: string | object): Promise<Record<string, unknown>> {
  const type = typeof body === 'string' ? 'application/yaml' : 'application/json';
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const headers = body === undefined ? {} : { 'content-type': type };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...sent });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return answer.headers.get('content-type')?.includes('json') === true ? JSON.parse(text) : {};
}

async function ended(path: string): Promise<void> {
  await waitUntil(`${path} ends`, async () => (await call('GET', path)).status === 'completed');
  await call('GET', `${path}/stream`);
}

const config = await writeNodeConfig(directory, {
  observability: { logging: { level: 'warn' } },
  llm_providers: [await writeScriptedModel(directory, [{ reply: 'done' }])],
});
const { runNode, keep } = await loaded.nodeProgram();
await runNode([
  ...['--data', join(directory, 'data'), '--config', config],
  ...['--http-port', String(port), '--grpc-port', String(grpcPort)],
  ...['--internal-port', '0', '--internal-grpc-port', '0'],
]);
const { agent_id } = await call('POST', '/v1/agents?force=true', AGENT);
const { workflow_id } = await call('POST', '/v1/workflows', WORKFLOW);
const { execution_id } = await call('POST', '/v1/executions', { agent_id, input: 'one' });
await ended(`/v1/executions/${execution_id}`);
const { execution_id: run } = await call('POST', `/v1/workflows/${workflow_id}/run`, { input: { input: 'two' } });
await ended(`/v1/workflows/executions/${run}`);
for (const list of ['agents', 'workflows', 'executions', 'workflows/executions']) await call('GET', `/v1/${list}`);
keep();
await rm(directory, { recursive: true, force: true });
process.exit(0);
