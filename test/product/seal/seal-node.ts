import { hash } from 'node:crypto';
import { glob, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, objectOf, ProductNode } from '../product-node.ts';
import { type Identified, IndependentAgent } from './independent-agent.ts';
import { Pages } from './pages.ts';
import { grpcClient, type Headers, type RestClient, restClient, type SealClient } from './transports.ts';

/** The model call lasts until the test is over, so the execution runs and its agent may call. */
const RULES = [{ reply: { text: 'at last', delay_ms: 250_000 } }];

/** A program that is the agent of an execution: it reports how it reaches the node, and waits. */
const PROGRAM = `#!/bin/sh
echo "$SVC_ORCHESTRATOR_URL" > url.tmp && mv url.tmp url
exec sleep 250
`;

const cmd = (config: object): object => ({ name: 'cmd.run', executor: 'builtin:cmd', config });
const COMMANDS = { sh: ['-c'], cat: [], git: ['status'], 'no-such-program': [] };

/** Agents, each with the limits that some row needs. */
const AGENTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  hands: {
    security_context: 'hands',
    security: { network: { mode: 'allow' } },
    tools: ['fs.*', 'web.*', 'svc.tools.*', cmd({ subcommand_allowlist: COMMANDS })],
  },
  bound: { security_context: 'bound', tools: ['fs.*', 'web.*', cmd({ subcommand_allowlist: COMMANDS })] },
  brief: {
    security_context: 'hands',
    tools: [cmd({ subcommand_allowlist: COMMANDS, timeout_ceiling_secs: 1, max_output_bytes: 1_000 })],
  },
  /** It and its token are valid for seconds. */
  short: { security_context: 'hands', security: { resources: { timeout: '2s' } }, tools: ['fs.read'] },
  bare: { security_context: 'hands', tools: ['fs.read'] },
};

const CONTEXTS = [
  {
    name: 'hands',
    capabilities: ['fs.*', 'web.*', 'cmd.run', 'svc.tools.*'].map((tool_pattern) => ({ tool_pattern })),
  },
  {
    name: 'bound',
    deny_list: ['fs.delete'],
    capabilities: [
      { tool_pattern: 'fs.list', rate_limit: { calls: 1, per_seconds: 3_600 } },
      { tool_pattern: 'fs.*', path_allowlist: ['/workspace/**'] },
      { tool_pattern: 'web.*', domain_allowlist: ['example.com'] },
      { tool_pattern: 'cmd.run', command_allowlist: ['sh', 'git'], max_concurrent: 1 },
    ],
  },
];

export interface SealNodeOptions {
  /** Rules of the scripted model. Default: a call lasts until the test is over. */
  readonly rules?: readonly object[];
  readonly spec?: Readonly<Record<string, unknown>>;
  /** Headers of the caller that deploys and starts, with authentication on. */
  readonly headers?: Headers;
}

/** A node with agents that have tools, and with executions of them that run until the test ends. */
export class SealNode implements AsyncDisposable {
  readonly node: ProductNode;
  readonly pages: Pages;
  readonly #headers: Headers;
  readonly #clients: SealClient[] = [];
  #grpcAddress = '';
  #internal = { url: '', grpcAddress: '' };

  private constructor(node: ProductNode, pages: Pages, headers: Headers) {
    this.node = node;
    this.pages = pages;
    this.#headers = headers;
  }

  static async start({ rules = RULES, spec = {}, headers = {} }: SealNodeOptions = {}): Promise<SealNode> {
    const pages = await Pages.open();
    const web = { allow_addresses: [`${pages.host}/32`], search: { provider: 'searxng', endpoint: pages.url('') } };
    const more = { security_contexts: CONTEXTS, web, ...spec };
    const programs = { 'agent.sh': PROGRAM };
    const node = await ProductNode.start({ rules, programs, spec: more }).catch(async (thrown: unknown) => {
      await pages[Symbol.asyncDispose]();
      throw thrown;
    });
    const one = new SealNode(node, pages, headers);
    one.#grpcAddress = await node.process.grpcAddress;
    one.#internal = await node.process.internal;
    return one;
  }

  /** Deploys one of the agents and starts it; returns what the agent needs to attest. */
  async begin(kind: keyof typeof AGENTS = 'hands', headers = this.#headers, deployer = headers): Promise<Identified> {
    const agent_id = await this.node.deploy(agentYaml(`agent-${kind}`, AGENTS[kind]), deployer);
    const execution_id = await this.node.run(agent_id, 'wait', headers);
    await this.running(execution_id, headers);
    return { agent_id, execution_id, container_id: execution_id };
  }

  /** The same for an agent that is a program, with the base address that it got on the internal listener. */
  async beginProgram(headers = this.#headers): Promise<{ is: Identified; url: string }> {
    const spec = {
      runtime: { isolation: 'process' },
      advanced: { bootstrap_path: join(this.node.directory, 'agent.sh') },
      ...AGENTS.hands,
    };
    const agent_id = await this.node.deploy(agentYaml('agent-program', spec), headers);
    const execution_id = await this.node.run(agent_id, 'wait', headers);
    const url = await waitUntil('the program reports how it reaches the node', async () => {
      // Its workspace is the volume of the execution or a separate directory.
      for await (const told of glob(
        join(this.node.directory, 'data', '{volumes,workspaces}', '*', execution_id, 'url'),
      ))
        return (await readFile(told, 'utf8')).trim();
      return null;
    });
    return { is: { agent_id, execution_id, container_id: execution_id }, url };
  }

  running(executionId: string, headers = this.#headers): Promise<boolean> {
    return waitUntil('the execution runs', async () => {
      const { status } = await this.node.statusOf(executionId, headers);
      return status === 'running';
    });
  }

  rest(options: Parameters<typeof restClient>[1] = {}): RestClient {
    return restClient(this.node.url, options);
  }

  grpc(): SealClient {
    return this.#kept(grpcClient(this.#grpcAddress));
  }

  /** Client of the internal address; REST below the address that a program got. */
  internalRest(url = this.#internal.url): RestClient {
    return restClient(url, { name: 'internal REST' });
  }

  internalGrpc(): SealClient {
    return this.#kept(grpcClient(this.#internal.grpcAddress, 'internal gRPC'));
  }

  get internalUrl(): string {
    return this.#internal.url;
  }

  #kept(client: SealClient): SealClient {
    this.#clients.push(client);
    return client;
  }

  /** A new session of the execution. */
  async attested(is: Identified, client: SealClient, headers: Headers = this.#headers): Promise<IndependentAgent> {
    const agent = new IndependentAgent(is);
    const { token, status, message } = await client.attest(agent, {}, headers);
    if (token === '') throw new Error(`attest over ${client.name}: ${status} ${message}`);
    agent.token = token;
    return agent;
  }

  /** Content of the workspaces and volumes of this node: each file with its hash. */
  async files(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const root of ['volumes', 'workspaces']) {
      const top = join(this.node.directory, 'data', root);
      const entries = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        const path = join(entry.parentPath, entry.name);
        found.set(path, entry.isFile() ? hash('sha256', await readFile(path)) : 'no file');
      }
    }
    return found;
  }

  async audit(sessionId: string, headers = this.#headers): Promise<AuditChain> {
    const answer = await this.node.call('GET', `/v1/seal/sessions/${sessionId}/audit`, { headers });
    if (answer.status !== 200) throw new Error(`audit: ${answer.status} ${answer.text}`);
    const { records } = answer.body;
    if (!Array.isArray(records)) throw new Error('audit: no records');
    return { exported: answer.body, bodies: records.map(({ body }) => objectOf(JSON.stringify(body))) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client[Symbol.dispose]();
    await this.node[Symbol.asyncDispose]();
    await this.pages[Symbol.asyncDispose]();
  }
}

interface AuditChain {
  readonly exported: Readonly<Record<string, unknown>>;
  readonly bodies: readonly Readonly<Record<string, unknown>>[];
}
