import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { scriptedModel } from '../../support/node-config.ts';
import { someOf } from '../../support/size.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { MANAGEMENT_ROWS } from '../../tools/management/rows.ts';
import type { Setting } from '../../tools/management/setting.ts';
import { SPECIFIED_TOOLS } from '../../tools/specified-tools.ts';
import { agentYaml } from '../product-node.ts';
import { IndependentAgent } from '../seal/independent-agent.ts';
import { grpcClient, type Headers, restClient } from '../seal/transports.ts';
import { Tenancy } from '../tenancy.ts';
import { mcpToolClient, sealToolClient, type ToolClient } from './management-node.ts';
import { callOf, settingOf } from './row-call.ts';
import { sameAnswer } from './same-answer.ts';

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
class ManagementCallers implements AsyncDisposable {
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

const ROWS = MANAGEMENT_ROWS.filter(({ by }) => by !== undefined);

/** Marks of the context of each caller at /mcp (specified-tools.ts). */
const MARKS = { user: 'F', stranger: 'F', service: 'D' } as const;
const marksOf = (tool: string): string => Object.values(SPECIFIED_TOOLS).find((table) => tool in table)?.[tool] ?? '';

describe(`management tools: ${ROWS.length} rows of callers, the same answer over SEAL REST, gRPC and /mcp`, () => {
  let callers: ManagementCallers;
  let at: Setting;
  before(async () => {
    callers = await ManagementCallers.open();
    const [client] = callers.of('operator');
    at = settingOf(client ?? assert.fail(), 'alpha');
  });
  after(() => callers[Symbol.asyncDispose]());

  for (const row of someOf(ROWS, 8)) {
    const { tool, what, by = assert.fail() } = row;
    test(`${tool} ${what}`, async () => {
      const isOffered = marksOf(tool).includes(MARKS[by]);
      const calls = callers.of(by).map(async (client) => {
        if (isOffered || client.name !== '/mcp') return callOf(row, client, at);
        const given = typeof row.args === 'function' ? await row.args(at) : row.args;
        const { reason, text } = await client.call(tool, given);
        assert.deepEqual([reason, text], ['ToolNotAllowed', `Unknown tool: ${tool}`]);
        return null;
      });
      sameAnswer((await Promise.all(calls)).filter((called) => called !== null));
    });
  }

  test('the context of a tier drops version and force, a configured one does not', async () => {
    const { name } = await at.workflow();
    await at.ok('svc.workflow.update', { manifest_yaml: at.workflowYaml(name, '1.1.0') });
    for (const client of callers.of('user')) {
      const { structured, text } = await client.call('svc.workflow.run', { name, version: '1.0.0' });
      assert.equal(structured.status, 'started', text);
      const got = await client.call('svc.workflow.executions.get', { execution_id: structured.execution_id });
      assert.equal(got.structured.workflow_version, client.name === '/mcp' ? '1.1.0' : '1.0.0', client.name);
    }
    const manifest_yaml = at.workflowYaml(name, '1.1.0', { description: 'is another' });
    for (const client of callers.of('operator')) {
      const { isError, text } = await client.call('svc.workflow.update', { manifest_yaml, force: true });
      assert.deepEqual(
        [isError, /^conflict: /.test(text)],
        client.name === '/mcp' ? [true, true] : [false, false],
        text,
      );
    }
  });
});
