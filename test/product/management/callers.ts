import assert from 'node:assert/strict';
import { scriptedModel } from '../../support/node-config.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml } from '../product-node.ts';
import { IndependentAgent } from '../seal/independent-agent.ts';
import { grpcClient, type Headers, restClient } from '../seal/transports.ts';
import { Tenancy } from '../tenancy.ts';
import { mcpToolClient, sealToolClient, type ToolClient } from './management-node.ts';

const noBound = { minute: null, hour: null, day: null, week: null, month: null };
/** Rows make more calls than a user of the tier may. */
const unbounded = {
  ...{ agent_executions: noBound, workflow_executions: noBound, model_calls: noBound, model_tokens: noBound },
  ...{ tools: { 'fs.*': noBound, 'web.search': noBound, '*': noBound }, concurrent_executions: null, agents: null },
};

const SPEC = {
  security_contexts: [{ name: 'managing', capabilities: [{ tool_pattern: 'svc.*' }] }],
  llm_providers: [scriptedModel(new URL('../../tools/management/script.yaml', import.meta.url).pathname)],
  kernel: { effect_concurrency: 256 },
};

/** Callers of the rows: an administrator of a tenant, a user of it, a user of another tenant, and a service account. */
const CALLERS = {
  operator: 'alphaAdmin',
  user: 'alphaUser',
  stranger: 'betaUserNamingAlpha',
  service: 'serviceForBeta',
} as const;
type RowCaller = keyof typeof CALLERS;

/**
 * A node with authentication, and clients of every kind of caller: SEAL for the user who started the execution, and
 * /mcp.
 */
export class ManagementCallers implements AsyncDisposable {
  readonly #opened: AsyncDisposableStack;
  readonly #clients: ReadonlyMap<RowCaller, readonly ToolClient[]>;

  private constructor(opened: AsyncDisposableStack, clients: ReadonlyMap<RowCaller, readonly ToolClient[]>) {
    this.#opened = opened;
    this.#clients = clients;
  }

  static async open(): Promise<ManagementCallers> {
    await using opened = new AsyncDisposableStack();
    const tenancy = opened.use(await Tenancy.open({ ...SPEC, rate_limits: { tiers: { free: unbounded } } }));
    const { node } = tenancy;
    const deployed = await tenancy.as('operator', 'POST', '/v1/agents?scope=global', {
      body: agentYaml('agent-manager', { security_context: 'managing', tools: ['svc.*'] }),
      headers: { 'content-type': 'application/yaml' },
    });
    assert.equal(deployed.status, 200, deployed.text);
    const agent_id = String(deployed.body.agent_id);
    const grpc = opened.use(grpcClient(await node.process.grpcAddress));
    const clients = new Map<RowCaller, readonly ToolClient[]>();
    for (const [who, caller] of Object.entries(CALLERS) as [RowCaller, (typeof CALLERS)[RowCaller]][]) {
      const headers: Headers = tenancy.headersOf(caller);
      const execution_id = await node.run(agent_id, 'sleepy', headers);
      await waitUntil(`the agent of ${caller} runs`, async () => {
        return (await node.statusOf(execution_id, headers)).status === 'running';
      });
      const is = { agent_id, execution_id, container_id: execution_id };
      const sealed = await Promise.all(
        [restClient(node.url), grpc].map(async (client) => {
          const agent = new IndependentAgent(is);
          const { token, status, message } = await client.attest(agent, {}, headers);
          assert.ok(token !== '', `attest as ${caller} over ${client.name}: ${status} ${message}`);
          agent.token = token;
          return sealToolClient(client, agent, headers);
        }),
      );
      clients.set(who, [...sealed, mcpToolClient(node, headers)]);
    }
    return new ManagementCallers(opened.move(), clients);
  }

  of(who: RowCaller): readonly ToolClient[] {
    return this.#clients.get(who) ?? assert.fail(`there is no caller ${who}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }
}
