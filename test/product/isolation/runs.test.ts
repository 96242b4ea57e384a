import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { clientOf, metadataOf, unary } from '../../transport/grpc/call.ts';
import { agentYaml } from '../product-node.ts';
import { DONE, workflowText } from '../tenant-objects.ts';
import { jsonAsk, unknownFor, withoutAsked } from './asker.ts';
import { IsolatedTenants, type Things } from './isolated-tenants.ts';
import { type OwnThings, settleOwn } from './own-things.ts';

const THEN = [{ condition: 'on_success', target: 'done' }];

/** References of a run: the name or id of another caller's agent or workflow. */
const FLOWS: Readonly<Record<string, { readonly of: 'agent' | 'workflow'; readonly state: (name: string) => object }>> =
  {
    agent: { of: 'agent', state: (agent) => ({ kind: 'Agent', agent, input: 'x', transitions: THEN }) },
    subworkflow: { of: 'workflow', state: (workflow_id) => ({ kind: 'Subworkflow', workflow_id, transitions: THEN }) },
  };

describe('references of a run are resolved with the rights of its caller', () => {
  let setup: IsolatedTenants;
  let alpha: Things;
  let andys: OwnThings;
  before(async () => {
    setup = await IsolatedTenants.open();
    alpha = await setup.settle('alphaAdmin', 'alpha');
    andys = await settleOwn(setup, await setup.callingAgent('alphaUser'), 'andy');
  });
  after(() => setup[Symbol.asyncDispose]());

  async function deploy(owner: string, path: string, body: string): Promise<Readonly<Record<string, unknown>>> {
    const ask = { body, headers: { 'content-type': 'application/yaml' } };
    const answer = await setup.ask(owner, 'POST', `${path}?force=true`, ask);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  }

  /** Its end, without the name. */
  async function ended(asker: string, path: string, named: string): Promise<{ status: string; said: string }> {
    const { body } = await waitUntil(`${path} to end`, async () => {
      const answer = await setup.ask(asker, 'GET', path);
      return ['completed', 'failed'].includes(String(answer.body.status)) && answer;
    });
    const { status, reason, error, last_error } = body;
    return { status: String(status), said: withoutAsked(JSON.stringify({ reason, error, last_error }), named) };
  }

  async function flowOf(owner: string, asker: string, what: keyof typeof FLOWS, named: string) {
    const { state } = FLOWS[what] ?? assert.fail();
    await deploy(owner, '/v1/workflows', workflowText('takes-it', { a: state(named), done: DONE }));
    const started = await setup.ask(asker, 'POST', '/v1/workflows/takes-it/run', jsonAsk({}));
    assert.equal(started.status, 200, started.text);
    return ended(asker, `/v1/workflows/executions/${started.body.execution_id}`, named);
  }

  /** An agent whose output another agent judges. */
  async function judgedBy(owner: string, asker: string, named: string) {
    const validation = [{ type: 'semantic', judge_agent: named, criteria: 'good' }];
    const { agent_id } = await deploy(
      owner,
      '/v1/agents',
      agentYaml('is-judged', { execution: { max_iterations: 1, validation } }),
    );
    const started = await setup.ask(asker, 'POST', '/v1/executions', jsonAsk({ agent_id, input: 'quick' }));
    assert.equal(started.status, 200, started.text);
    return ended(asker, `/v1/executions/${started.body.execution_id}`, named);
  }

  const cases = [
    { what: 'another tenant’s', owner: 'betaAdmin', asker: 'betaUserNamingAlpha', things: () => alpha },
    { what: 'another user’s own', owner: 'alphaAdmin', asker: 'alphaOther', things: () => andys },
  ];
  for (const { what, owner, asker, things } of cases) {
    test(`a state that names ${what} agent or workflow ends like one that names an unknown one`, async () => {
      for (const [flow, { of }] of Object.entries(FLOWS))
        for (const named of [things()[of], things()[`${of}Name`]]) {
          const real = await flowOf(owner, asker, flow, named);
          assert.deepEqual(real, await flowOf(owner, asker, flow, unknownFor(named)), `${flow} ${named}`);
          assert.equal(real.status, 'failed', `${flow} ${named}: ${real.said}`);
        }
    });

    test(`as a judge ${what} agent does not exist, for an agent and over gRPC`, async () => {
      const { agent, agentName } = things();
      const real = await judgedBy(owner, asker, agentName);
      assert.deepEqual(real, await judgedBy(owner, asker, unknownFor(agentName)));
      assert.equal(real.status, 'failed', real.said);
      const client = clientOf(await setup.tenancy.node.process.grpcAddress);
      const judged = async (agent_id: string) => {
        const judges = [{ agent_id, input_template: '', weight: 1 }];
        const asked = { task: 't', output: 'o', judges, context_json: '', consensus: undefined };
        const as = metadataOf(setup.asker(asker).headers);
        const { code, details } = await unary((done) => client.validateWithJudges(asked, as, done));
        return { code, details: withoutAsked(details, agent_id) };
      };
      for (const named of [agent, agentName]) {
        const foreign = await judged(named);
        assert.deepEqual(foreign, await judged(unknownFor(named)));
        assert.notEqual(foreign.code, 'OK');
      }
      client.close();
    });
  }

  test('the same states run for a caller that sees the referenced objects', async () => {
    for (const [flow, { of }] of Object.entries(FLOWS)) {
      if (of === 'workflow') continue;
      assert.equal((await flowOf('alphaAdmin', 'alphaUser', flow, andys.agentName)).status, 'completed');
    }
  });
});
