import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type PageServer, serve } from '../effects/web/page-server.ts';
import { agentYaml, type ProductNode } from '../product/product-node.ts';
import { IndependentAgent } from '../product/seal/independent-agent.ts';
import { type Answered, grpcClient, restClient, type SealClient } from '../product/seal/transports.ts';
import { waitUntil } from '../support/wait-until.ts';
import { HANDS } from './agents.ts';
import { boxRules } from './boxes.ts';
import { type EscapeNode, type Members, startEscapeNode } from './escape-node.ts';
import { LOOP_RULES } from './loops.ts';
import { page } from './pages.ts';

/** What must never be read: in a file outside of all volumes. */
export const SENTINEL = `sentinel-${randomUUID()}`;
/** A variable of the node's own environment. */
export const NODE_SECRET = `of-the-node-${randomUUID()}`;
/** A secret that is given to an MCP server. */
export const MCP_KEY = `key-${randomUUID()}`;
/** Told by the processes that attempts leave behind. */
export const MARK = String(3_000_000_000 + Math.trunc(Math.random() * 1_000_000_000));

const WILD = join(import.meta.dirname, '..', 'effects', 'mcp', 'servers', 'wild.ts');

/** Answer to a call, in the form that all transports share. */
export interface Said extends Answered {
  /** What is before the first colon of an error: `PathTraversalAttempt`; else the reason of a refusal, or ''. */
  readonly code: string;
  readonly isError: boolean;
  /** Text of the result, or the words of the refusal. */
  readonly said: string;
}

/** A started node with an agent that has all tools, an attested agent that calls them, and objects that must not be reached. */
export interface EscapeTargets extends AsyncDisposable {
  readonly setup: EscapeNode;
  readonly node: ProductNode;
  /** A directory outside of everything, with `secret.txt`. */
  readonly outside: string;
  /** On this machine, of the execution's volume. */
  readonly workspace: string;
  readonly agent: IndependentAgent;
  readonly executionId: string;
  readonly pages: PageServer;
  /** Hears what must not be reached. */
  readonly hidden: PageServer;
  /** Answers of one tool; by REST and gRPC in turn. */
  call(tool: unknown, given?: unknown): Promise<Said>;
  /** As bytes of someone who writes JSON by hand; the id 1 becomes one that was not used. */
  raw(payload: string): Promise<Said>;
  /** `cmd.run` of a shell script; throws when it could not run. */
  sh(script: string): Promise<string>;
  /** A directory of its own in the workspace: `name` in paths of tools, `path` on this machine. */
  place(): Promise<{ readonly name: string; readonly path: string }>;
  /** Another running execution with these members of its manifest. */
  begin(spec: Members): Promise<{ readonly executionId: string; call: EscapeTargets['call'] }>;
}

const CAPABILITIES = ['fs.*', 'web.*', 'cmd.run', 'svc.tools.*', 'wild.*'];
const SPEC = {
  security_contexts: [{ name: 'hands', capabilities: CAPABILITIES.map((tool_pattern) => ({ tool_pattern })) }],
  storage: { default_size_limit_mb: 200 },
  web: { allow_addresses: ['127.0.0.2/32'], timeout_ceiling_secs: 3 },
  mcp_servers: [
    {
      ...{
        name: 'wild',
        executable: process.execPath,
        args: [WILD],
        tool_timeout_seconds: 3,
        paths: [{ path: dirname(WILD) }],
      },
      environment: { KEY: `literal:${MCP_KEY}` },
      resource_limits: { memory_mb: 200 },
    },
  ],
};
const WAITING = { match: { contains: 'wait' }, reply: { text: 'at last', delay_ms: 250_000 } };

interface TargetOptions {
  readonly containers: boolean;
  /** Where volumes are; else the node keeps them in its data directory. */
  readonly volumes?: string;
}

export async function escapeTargets({ containers, volumes }: TargetOptions): Promise<EscapeTargets> {
  await using opened = new AsyncDisposableStack();
  const outside = await mkdtemp(join(tmpdir(), 'svc-outside-'));
  opened.defer(() => rm(outside, { recursive: true, force: true }));
  await mkdir(join(outside, 'sub'));
  for (const name of ['secret.txt', 'sub/secret.txt']) await writeFile(join(outside, name), `${SENTINEL}\n`);
  const hidden = opened.use(await serve((_, response) => response.end(SENTINEL), '127.0.0.1'));
  const pages = opened.use(await serve((request, response) => page(request, response, hidden.port)));
  const setup = opened.use(
    await startEscapeNode({
      rules: [WAITING, ...LOOP_RULES, ...boxRules(outside)],
      spec: volumes === undefined ? SPEC : { ...SPEC, storage: { local_host: { mount_point: volumes } } },
      containers,
      env: { SVC_TEST_SECRET: NODE_SECRET, AWS_SECRET_ACCESS_KEY: NODE_SECRET },
    }),
  );
  const { node } = setup;
  const rest = opened.use(restClient(node.url));
  const clients = [rest, opened.use(grpcClient(await node.process.grpcAddress))];
  const begin = (manifest: Members) => begun(setup, rest, clients, manifest);
  const { executionId, agent, call, raw } = await begin(HANDS);
  const marker = `marker-${randomUUID()}`;
  assert.equal((await call('fs.write', { path: marker, content: '' })).isError, false);
  const workspace = await found(volumes ?? setup.data, marker);
  const running = opened.move();
  return {
    ...{ setup, node, outside, workspace, agent, executionId, pages, hidden, call, raw, begin },
    async sh(script) {
      const { isError, said, result } = await call('cmd.run', { command: 'sh', args: ['-c', script] });
      if (isError) throw new Error(said);
      const { structured } = result ?? {};
      return typeof structured === 'object' && structured !== null && 'stdout' in structured
        ? String(structured.stdout)
        : '';
    },
    async place() {
      const name = randomUUID();
      await mkdir(join(workspace, name));
      return { name, path: join(workspace, name) };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function begun(setup: EscapeNode, rest: SealClient, clients: readonly SealClient[], spec: Members) {
  const { node } = setup;
  const agent_id = await node.deploy(agentYaml(`agent-${randomUUID().slice(0, 8)}`, spec));
  const executionId = await node.run(agent_id, 'wait');
  await waitUntil('the execution runs', async () => (await node.statusOf(executionId)).status === 'running');
  const agent = new IndependentAgent({ agent_id, execution_id: executionId, container_id: executionId });
  const { token, message } = await rest.attest(agent);
  assert.notEqual(token, '', message);
  agent.token = token;
  let calls = 0;
  const next = (): SealClient => {
    calls += 1;
    return clients[calls % clients.length] ?? rest;
  };
  let attestAt = 1_000;
  /** A session takes 2,000 calls, and races make more. */
  const attestAgain = async (): Promise<void> => {
    if (calls < attestAt) return;
    attestAt = calls + 1_000;
    const again = await rest.attest(agent);
    assert.notEqual(again.token, '', again.message);
    agent.token = again.token;
  };
  const call = async (tool: unknown, given?: unknown): Promise<Said> => {
    await attestAgain();
    const client = next();
    return saidBy(await client.invoke(agent.call(calls, tool, given)));
  };
  const raw = async (payload: string): Promise<Said> => {
    const client = next();
    return saidBy(await client.invoke(agent.seal(payload.replace('"id":1,', `"id":${calls},`))));
  };
  return { executionId, agent, call, raw };
}

function saidBy(answer: Answered): Said {
  const { result } = answer;
  const said = result?.text ?? answer.message;
  const isError = result === undefined || result.isError;
  const code = isError ? (answer.reason ?? /^([A-Za-z_]+): /.exec(said)?.[1] ?? '') : '';
  return { ...answer, said, isError, code };
}

/** Directory below `top` that holds a name. */
async function found(top: string, name: string): Promise<string> {
  const entries = await readdir(top, { recursive: true, withFileTypes: true });
  const entry = entries.find((one) => one.name === name);
  assert.ok(entry !== undefined && existsSync(entry.parentPath));
  return entry.parentPath;
}

/** Checks that no secret is in the answer. */
export function assertHarmless({ text, said }: Pick<Said, 'text' | 'said'>, ...more: readonly string[]): void {
  for (const secret of [SENTINEL, NODE_SECRET, ...more]) {
    assert.ok(
      !text.includes(secret) && !said.includes(secret),
      `it got ${secret.split('-')[0]}: ${said.slice(0, 200)}`,
    );
  }
}

export function assertRefused(answer: Said, code: RegExp): void {
  assertHarmless(answer);
  assert.ok(answer.isError, `it was done: ${answer.said.slice(0, 200)}`);
  assert.match(answer.code, code, answer.said.slice(0, 300));
}
