import assert from 'node:assert/strict';
import { scriptedModel } from '../../support/node-config.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type Answer, type Ask, agentYaml } from '../product-node.ts';
import { CALLER_NAMES, CALLERS } from '../realms.ts';
import { Tenancy } from '../tenancy.ts';
import { DONE, makeTenantObjects, type TenantObjects, workflowText } from '../tenant-objects.ts';
import { type Asker, jsonAsk } from './asker.ts';
import { CallingAgent } from './calling-agent.ts';

/** Objects that the tables of tools and routes name. */
export type Things = TenantObjects & {
  /** An execution of an agent that has not ended. */
  readonly running: string;
  /** A run of a workflow that has ended. */
  readonly endedRun: string;
  /** The trace of an execution, and the message that began it. */
  readonly trace: string;
  readonly message: string;
};

/** The agent with which callers of every tenant use SEAL. */
export const CALLING_AGENT = 'calling-agent';

/** A model that accepts outputs with a high score, but never a perfect one. */
export const MODEL = { llm_providers: [scriptedModel(new URL('script.yaml', import.meta.url).pathname)] };

const SPEC = {
  security_contexts: [{ name: 'managing', capabilities: [{ tool_pattern: 'svc.*' }] }],
  ...MODEL,
  // Agents that wait for their next call hold a place.
  kernel: { effect_concurrency: 256 },
};

/** A node with callers of every kind, their API keys, and agents with which they call tools over SEAL. */
export class IsolatedTenants implements AsyncDisposable {
  readonly tenancy: Tenancy;
  readonly askers: ReadonlyMap<string, Asker>;

  private constructor(tenancy: Tenancy, askers: ReadonlyMap<string, Asker>) {
    this.tenancy = tenancy;
    this.askers = askers;
  }

  /** Further blocks of `spec`, such as stores. */
  static async open(spec: Readonly<Record<string, unknown>> = {}): Promise<IsolatedTenants> {
    const tenancy = await Tenancy.open({ ...SPEC, ...spec });
    const askers = new Map<string, Asker>();
    const add = (asker: Asker) => askers.set(asker.name, asker);
    for (const name of CALLER_NAMES) add({ name, tenant: CALLERS[name].tenant, headers: tenancy.headersOf(name) });
    const amy = await tenancy.headersWith('alpha', { sub: 'amy' });
    const rolf = await tenancy.headersWith('alpha', { sub: 'rolf', svc_role: 'svc:readonly' });
    add({ name: 'alphaOther', tenant: 'alpha', headers: amy });
    add({ name: 'alphaReader', tenant: 'alpha', headers: rolf });
    const setup = new IsolatedTenants(tenancy, askers);
    for (const asker of [...askers.values()]) add(await setup.#keyOf(asker));
    const deployed = await setup.ask('operator', 'POST', '/v1/agents?scope=global', {
      body: agentYaml(CALLING_AGENT, { security_context: 'managing', tools: ['svc.*'] }),
      headers: { 'content-type': 'application/yaml' },
    });
    assert.equal(deployed.status, 200, deployed.text);
    return setup;
  }

  asker(name: string): Asker {
    return this.askers.get(name) ?? assert.fail(`there is no caller named ${name}`);
  }

  ask(asker: string | Asker, method: string, path: string, ask: Ask = {}): Promise<Answer> {
    const { headers } = typeof asker === 'string' ? this.asker(asker) : asker;
    return this.tenancy.node.call(method, path, { ...ask, headers: { ...headers, ...ask.headers } });
  }

  /** Callers outside of the tenant, with their API keys. */
  callersOutside(tenant: string): Asker[] {
    return [...this.askers.values()].filter((asker) => asker.tenant !== tenant);
  }

  /** An agent of the caller, which calls tools over SEAL. */
  async callingAgent(name: string): Promise<CallingAgent> {
    const asker = this.asker(name);
    const agent = await this.ask(asker, 'GET', `/v1/agents/lookup/${CALLING_AGENT}`);
    const agentId = String(agent.body.agent_id);
    const execution = await this.done(asker, '/v1/executions', { agent_id: agentId, input: 'sleepy' });
    return CallingAgent.of(this.tenancy.node, asker, agentId, String(execution.execution_id));
  }

  /** One object of every kind; all their names contain `word`. */
  async settle(owner: string, word: string): Promise<Things> {
    const things = await makeTenantObjects((method, path, ask) => this.ask(owner, method, path, ask), word);
    const started = await this.done(owner, '/v1/executions', { agent_id: things.agent, input: 'sleepy' });
    const body = workflowText(`ends-${word}`, { done: DONE });
    await this.done(owner, '/v1/workflows', body);
    const ended = await this.done(owner, `/v1/workflows/ends-${word}/run`, {});
    const all = { ...things, running: String(started.execution_id), endedRun: String(ended.execution_id) };
    await this.settled(owner, '/v1/executions/', all.execution);
    await this.settled(owner, '/v1/execute/', all.pipeline);
    await this.settled(owner, '/v1/workflows/executions/', all.endedRun);
    return { ...all, ...(await this.traceOf(owner, all.execution)) };
  }

  /** The trace of an execution once the ledger has it, and its first message. */
  async traceOf(
    owner: string | Asker,
    execution: string,
  ): Promise<{ readonly trace: string; readonly message: string }> {
    const { body } = await this.ask(owner, 'GET', `/v1/executions/${execution}`);
    return waitUntil('the trace to be in the ledger', async () => {
      const found = await this.ask(owner, 'GET', `/v1/traces/${body.trace_id}`);
      return found.status === 200 && { trace: String(body.trace_id), message: String(found.body.root) };
    });
  }

  /** Waits until the run at the path has ended. */
  async settled(owner: string | Asker, path: string, id: string): Promise<void> {
    await waitUntil(`${path}${id} to end`, async () => {
      const { body } = await this.ask(owner, 'GET', `${path}${id}`);
      return ['completed', 'failed'].includes(String(body.status));
    });
  }

  /** The answer of a POST that must succeed. */
  async done(asker: string | Asker, path: string, body: object | string): Promise<Answer['body']> {
    const ask = typeof body === 'string' ? { body, headers: { 'content-type': 'application/yaml' } } : jsonAsk(body);
    const answer = await this.ask(asker, 'POST', path, ask);
    assert.equal(answer.status, 200, `POST ${path}: ${answer.text}`);
    return answer.body;
  }

  /** The same caller, with a key instead of a token. */
  async #keyOf(asker: Asker): Promise<Asker> {
    const { key } = await this.done(asker, '/v1/api-keys', { name: `of ${asker.name}` });
    return { name: `key of ${asker.name}`, tenant: asker.tenant, headers: { authorization: `Bearer ${key}` } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tenancy[Symbol.asyncDispose]();
  }
}
