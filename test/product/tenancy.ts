import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { waitUntil } from '../support/wait-until.ts';
import { clientOf, ended, metadataOf, request, unary } from '../transport/grpc/call.ts';
import { type Answer, type Ask, agentYaml, ProductNode } from './product-node.ts';
import { CALLER_NAMES, CALLERS, type CallerName, Realms } from './realms.ts';

/** An object of a tenant. */
export interface Thing {
  readonly kind: 'agent' | 'execution';
  readonly id: string;
  /** Name of the agent. */
  readonly name: string;
  readonly tenant: string;
}

/** One request for an object of another tenant, and the same for one that never existed. */
export interface Probe {
  readonly method: string;
  readonly path: string;
  readonly unknown: string;
  readonly ask?: (id: string) => Ask;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** A node with four realms, tokens of all callers, and a record of the owners of all objects. */
export class Tenancy implements AsyncDisposable {
  readonly node: ProductNode;
  /** Of the node: another one with the same is of its fleet, where its stores are shared. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly #realms: Realms;
  readonly #headers: ReadonlyMap<CallerName, Record<string, string>>;
  /** `METHOD /path/{id}` of the served description. */
  readonly #routes: readonly string[];
  readonly #grpc: ReturnType<typeof clientOf>;
  readonly things: Thing[] = [];

  private constructor(parts: {
    node: ProductNode;
    spec: Readonly<Record<string, unknown>>;
    realms: Realms;
    headers: ReadonlyMap<CallerName, Record<string, string>>;
    routes: readonly string[];
    grpcAddress: string;
  }) {
    this.node = parts.node;
    this.spec = parts.spec;
    this.#realms = parts.realms;
    this.#headers = parts.headers;
    this.#routes = parts.routes;
    this.#grpc = clientOf(parts.grpcAddress);
  }

  static async open(spec: Readonly<Record<string, unknown>> = {}): Promise<Tenancy> {
    const realms = await Realms.open();
    const all = { ...realms.spec, ...spec };
    const node = await ProductNode.start({ spec: all });
    const headers = new Map<CallerName, Record<string, string>>();
    for (const name of CALLER_NAMES) headers.set(name, await realms.headers(name));
    const { body } = await node.call('GET', '/v1/openapi.json');
    // Every other route: workflows-walls.test.ts.
    const ofTenants = Object.entries(body.paths as Record<string, object>).filter(([path]) =>
      /^\/v1\/(agents|executions)/.test(path),
    );
    const routes = ofTenants.flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    return new Tenancy({ node, spec: all, realms, headers, routes, grpcAddress: await node.process.grpcAddress });
  }

  headersOf(caller: CallerName): Record<string, string> {
    const headers = this.#headers.get(caller);
    if (headers === undefined) throw new Error(`no token of ${caller}`);
    return headers;
  }

  /** Headers of a caller that is not in the table. */
  headersWith(...who: Parameters<Realms['headersWith']>): Promise<Record<string, string>> {
    return this.#realms.headersWith(...who);
  }

  as(caller: CallerName, method: string, path: string, ask: Ask = {}): Promise<Answer> {
    return this.node.call(method, path, { ...ask, headers: { ...this.headersOf(caller), ...ask.headers } });
  }

  /** Objects of a tenant, of one kind. */
  of(tenant: string, kind: Thing['kind']): Thing[] {
    return this.things.filter((thing) => thing.tenant === tenant && thing.kind === kind);
  }

  /** Deploys as the caller; null when its role does not allow that. */
  async deploy(caller: CallerName, name: string): Promise<Thing | null> {
    const headers = { 'content-type': 'application/yaml' };
    const answer = await this.as(caller, 'POST', '/v1/agents?force=true', { body: agentYaml(name), headers });
    if (answer.status === 403) return null;
    assert.equal(answer.status, 200, answer.text);
    const { tenant } = CALLERS[caller];
    const thing: Thing = { kind: 'agent', id: String(answer.body.agent_id), name, tenant };
    const other = this.things.find(({ id }) => id === thing.id);
    assert.ok(other === undefined || other.tenant === tenant, 'an agent of one name in two tenants is two agents');
    if (other === undefined) this.things.push(thing);
    return thing;
  }

  async start(caller: CallerName, agent: Thing, input: string): Promise<Thing | null> {
    const body = JSON.stringify({ agent_id: agent.id, input });
    const answer = await this.as(caller, 'POST', '/v1/executions', { body, headers: JSON_TYPE });
    if (answer.status === 403) return null;
    assert.equal(answer.status, 200, answer.text);
    const { tenant } = CALLERS[caller];
    const thing: Thing = { kind: 'execution', id: String(answer.body.execution_id), name: '', tenant };
    this.things.push(thing);
    return thing;
  }

  forget(thing: Thing): void {
    this.things.splice(this.things.indexOf(thing), 1);
  }

  /** Every request that names the object over REST, as the served description lists them. */
  probes(thing: Thing): Probe[] {
    const prefix = thing.kind === 'agent' ? '/v1/agents/' : '/v1/executions/';
    const unknownId = randomUUID();
    const unknownName = 'n'.repeat(thing.name.length);
    const found: Probe[] = [];
    for (const route of this.#routes) {
      const [method = '', template = ''] = route.split(' ');
      if (!template.includes('{')) continue;
      if (!template.startsWith(prefix)) {
        assert.match(template, /^\/v1\/(agents|executions)\/(\{id\}|lookup\/\{name\})/, 'a route of this test');
        continue;
      }
      const path = template.replace('{id}', thing.id).replace('{name}', thing.name);
      const unknown = template.replace('{id}', unknownId).replace('{name}', unknownName);
      found.push({ method, path, unknown });
      if (method === 'GET' && !path.endsWith('/stream')) found.push({ method: 'HEAD', path, unknown });
    }
    if (thing.kind === 'execution') return found;
    const start = (id: string) => ({ body: JSON.stringify({ agent_id: id, input: 'x' }), headers: JSON_TYPE });
    return [
      ...found,
      { method: 'POST', path: '/v1/executions', unknown: '/v1/executions', ask: start },
      { method: 'GET', path: `/v1/executions?agent_id=${thing.id}`, unknown: `/v1/executions?agent_id=${unknownId}` },
    ];
  }

  /**
   * Another tenant's object must answer, byte for byte, like one that never existed: over every route and ExecuteAgent.
   */
  async assertHidden(thing: Thing, caller: CallerName): Promise<void> {
    const own = this.of(CALLERS[caller].tenant, 'agent');
    for (const { method, path, unknown, ask = () => ({}) } of this.probes(thing)) {
      if (path.includes('/lookup/') && own.some(({ name }) => name === thing.name)) {
        // A name that both tenants use is the caller's own agent.
        const { body } = await this.as(caller, 'GET', path);
        assert.ok(
          own.some(({ id }) => id === body.agent_id),
          `${caller} finds its own ${thing.name}`,
        );
        continue;
      }
      const [foreign, none] = [
        await this.as(caller, method, path, ask(thing.id)),
        await this.as(caller, method, unknown, ask(randomUUID())),
      ];
      assert.equal(bytesOf(foreign), bytesOf(none), `${caller} asks ${method} ${path}`);
    }
    if (thing.kind === 'execution') return;
    for (const [foreign, none] of [
      [thing.id, randomUUID()],
      [thing.name, 'n'.repeat(thing.name.length)],
    ] as const) {
      const isOwn = own.some(({ name }) => foreign === name);
      if (!isOwn) assert.deepEqual(await this.execute(caller, foreign), await this.execute(caller, none), caller);
    }
  }

  /** Events and status of ExecuteAgent. */
  execute(caller: CallerName, agent: string): Promise<unknown> {
    return this.executeWith(this.headersOf(caller), agent);
  }

  async executeWith(headers: Readonly<Record<string, string>>, agent: string): Promise<unknown> {
    const call = this.#grpc.executeAgent(request(agent), metadataOf(headers));
    const { events, status, code } = await ended(call);
    const trailers = Object.keys(status.metadata.getMap()).sort();
    return { events, code, details: status.details, trailers };
  }

  /** Answer of QueryMemoryPatterns, as JSON. */
  async patternsWith(headers: Readonly<Record<string, string>>, error_signature: string): Promise<string> {
    const asked = { error_signature, error_type: '', limit: 10, min_success_score: 0 };
    const { code, answer } = await unary((done) => this.#grpc.queryMemoryPatterns(asked, metadataOf(headers), done));
    assert.equal(code, 'OK');
    return JSON.stringify(answer);
  }

  /** Lists contain all objects of the caller's tenant and no others. */
  async assertLists(caller: CallerName): Promise<void> {
    const { tenant } = CALLERS[caller];
    const agents = await this.as(caller, 'GET', '/v1/agents');
    const listed = agents.body.agents as readonly { agent_id: string; tenant_id: string }[];
    assert.deepEqual(new Set(listed.map(({ tenant_id }) => tenant_id)), new Set(listed.length === 0 ? [] : [tenant]));
    assert.deepEqual(idsOf(listed.map(({ agent_id }) => ({ id: agent_id }))), idsOf(this.of(tenant, 'agent')), caller);
    const own = idsOf(this.of(tenant, 'execution'));
    let seen: string[] = [];
    await waitUntil(`${caller} sees the executions of ${tenant}`, async () => {
      const answer = await this.as(caller, 'GET', '/v1/executions?limit=1000');
      const executions = answer.body.executions as readonly { execution_id: string }[];
      seen = idsOf(executions.map(({ execution_id }) => ({ id: execution_id })));
      const foreign = this.things.filter((thing) => thing.tenant !== tenant && seen.includes(thing.id));
      assert.deepEqual(foreign, [], `${caller} never sees others`);
      return seen.join() === own.join();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#grpc.close();
    await this.node[Symbol.asyncDispose]();
    await this.#realms[Symbol.asyncDispose]();
  }
}

const idsOf = (things: readonly { readonly id: string }[]): string[] => things.map(({ id }) => id).sort();

/** An answer without the parts that differ between any two calls. */
export function bytesOf({ status, headers, text }: Answer): string {
  const kept = [...headers].filter(([name]) => name !== 'date' && name !== 'traceparent').sort();
  return JSON.stringify({ status, headers: kept, text });
}
