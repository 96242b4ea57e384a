import assert from 'node:assert/strict';
import { scriptedModel } from '../../support/node-config.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml } from '../product-node.ts';
import { IndependentAgent } from '../seal/independent-agent.ts';
import { grpcDoor, type Headers, restDoor } from '../seal/transports.ts';
import { Tenancy } from '../tenancy.ts';
import { mcpDoor, sealDoor, type ToolDoor } from './management-node.ts';

const noBound = { minute: null, hour: null, day: null, week: null, month: null };
/** Rows ask more often than a user of the tier may. */
const unbounded = {
  ...{ agent_executions: noBound, workflow_executions: noBound, model_calls: noBound, model_tokens: noBound },
  ...{ tools: { 'fs.*': noBound, 'web.search': noBound, '*': noBound }, concurrent_executions: null, agents: null },
};

const SPEC = {
  security_contexts: [{ name: 'managing', capabilities: [{ tool_pattern: 'svc.*' }] }],
  llm_providers: [scriptedModel(new URL('../../tools/management/script.yaml', import.meta.url).pathname)],
  kernel: { effect_concurrency: 256 },
};

/** Who calls in the rows: one who administers a tenant, a user of it, one of another tenant, and a service account. */
const CALLERS = {
  operator: 'alphaAdmin',
  user: 'alphaUser',
  stranger: 'betaUserNamingAlpha',
  service: 'serviceForBeta',
} as const;
export type RowCaller = keyof typeof CALLERS;

/** A node with authentication, and the doors of callers of every kind: SEAL in the name of who started, and /mcp. */
export class ManagementCallers implements AsyncDisposable {
  readonly #opened: AsyncDisposableStack;
  readonly #doors: ReadonlyMap<RowCaller, readonly ToolDoor[]>;

  private constructor(opened: AsyncDisposableStack, doors: ReadonlyMap<RowCaller, readonly ToolDoor[]>) {
    this.#opened = opened;
    this.#doors = doors;
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
    const grpc = opened.use(grpcDoor(await node.process.grpcAddress));
    const doors = new Map<RowCaller, readonly ToolDoor[]>();
    for (const [who, caller] of Object.entries(CALLERS) as [RowCaller, (typeof CALLERS)[RowCaller]][]) {
      const headers: Headers = tenancy.headersOf(caller);
      const execution_id = await node.run(agent_id, 'sleepy', headers);
      await waitUntil(`the agent of ${caller} runs`, async () => {
        return (await node.statusOf(execution_id, headers)).status === 'running';
      });
      const is = { agent_id, execution_id, container_id: execution_id };
      const sealed = await Promise.all(
        [restDoor(node.url), grpc].map(async (door) => {
          const agent = new IndependentAgent(is);
          const { token, status, message } = await door.attest(agent, {}, headers);
          assert.ok(token !== '', `attest as ${caller} over ${door.name}: ${status} ${message}`);
          agent.token = token;
          return sealDoor(door, agent, headers);
        }),
      );
      doors.set(who, [...sealed, mcpDoor(node, headers)]);
    }
    return new ManagementCallers(opened.move(), doors);
  }

  of(who: RowCaller): readonly ToolDoor[] {
    return this.#doors.get(who) ?? assert.fail(`there is no caller ${who}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }
}
