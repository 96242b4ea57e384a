import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { sample } from '../support/size.ts';
import { CALLER_NAMES, CALLERS } from './realms.ts';
import { type Probe, Tenancy, type Thing } from './tenancy.ts';

const step = fc.record({
  caller: fc.constantFrom(...CALLER_NAMES),
  does: fc.constantFrom('deploy', 'deploy', 'start', 'start', 'cancel', 'delete agent', 'remove execution'),
  /** Names are shared between tenants on purpose. */
  name: fc.constantFrom('writer', 'reader', 'planner'),
  input: fc.constantFrom('quick', 'steady', 'slow'),
  which: fc.nat({ max: 1_000 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const isGet = ({ method }: Probe): boolean => method === 'GET';

const pick = (things: readonly Thing[], which: number): Thing | undefined => things[which % (things.length || 1)];

describe('tenants of one node', () => {
  let tenancy: Tenancy;
  before(async () => {
    tenancy = await Tenancy.open();
  });
  after(() => tenancy[Symbol.asyncDispose]());

  async function take({ caller, does, name, input, which }: Step): Promise<void> {
    const { tenant } = CALLERS[caller];
    const agent = pick(tenancy.of(tenant, 'agent'), which);
    const execution = pick(tenancy.of(tenant, 'execution'), which);
    if (does === 'deploy') await tenancy.deploy(caller, name);
    else if (does === 'start' && agent !== undefined) await tenancy.start(caller, agent, input);
    else if (does === 'cancel' && execution !== undefined) {
      const { status } = await tenancy.as(caller, 'POST', `/v1/executions/${execution.id}/cancel`);
      assert.ok([200, 403, 409].includes(status), `cancel: ${status}`);
    } else if (does === 'delete agent' && agent !== undefined) {
      const { status } = await tenancy.as(caller, 'DELETE', `/v1/agents/${agent.id}`);
      // A running execution prevents the removal of its agent.
      assert.ok([200, 403, 409].includes(status), `delete: ${status}`);
      if (status === 200) tenancy.forget(agent);
    } else if (does === 'remove execution' && execution !== undefined) {
      const { status } = await tenancy.as(caller, 'DELETE', `/v1/executions/${execution.id}`);
      assert.ok([200, 403, 409].includes(status), `remove: ${status}`);
      if (status === 200) tenancy.forget(execution);
    }
  }

  /** An object of each kind of each tenant, for every caller that must not see it. */
  async function assertWalls(which: number): Promise<void> {
    for (const tenant of new Set(tenancy.things.map((thing) => thing.tenant))) {
      for (const kind of ['agent', 'execution'] as const) {
        const thing = pick(tenancy.of(tenant, kind), which);
        if (thing === undefined) continue;
        const hidden = CALLER_NAMES.filter((caller) => CALLERS[caller].tenant !== tenant);
        for (const caller of hidden) await tenancy.assertHidden(thing, caller);
      }
    }
    for (const caller of CALLER_NAMES) await tenancy.assertLists(caller);
  }

  test('after any operations, objects of another tenant answer as ones that never existed, and no list shows them', async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
      for (const one of steps) await take(one);
      await assertWalls(steps[0]?.which ?? 0);
    });
    await fc.assert(property, { numRuns: sample({ normal: 1, long: 6 }), endOnFailure: true });
  });

  test('owners get what others do not, so the answers above are not refusals for all callers', async () => {
    const agent = await tenancy.deploy('alphaAdmin', 'seen');
    assert.ok(agent !== null);
    const execution = await tenancy.start('alphaUser', agent, 'quick');
    assert.ok(execution !== null);
    for (const caller of ['alphaAdmin', 'alphaUser', 'serviceForAlpha'] as const) {
      const paths: readonly Probe[] = [agent, execution].flatMap((thing: Thing) => tenancy.probes(thing)).filter(isGet);
      for (const { path } of paths) {
        assert.equal((await tenancy.as(caller, 'GET', path)).status, 200, `${caller} ${path}`);
      }
    }
    await assertWalls(tenancy.of('alpha', 'agent').length - 1);
  });

  test('one Idempotency-Key in two tenants starts two executions', async () => {
    const ids: string[] = [];
    for (const caller of ['alphaAdmin', 'betaAdmin', 'service'] as const) {
      const agent = await tenancy.deploy(caller, 'keyed');
      assert.ok(agent !== null);
      for (const _again of [1, 2]) {
        const body = JSON.stringify({ agent_id: agent.id, input: 'quick' });
        const headers = { 'content-type': 'application/json', 'idempotency-key': 'the-same' };
        const answer = await tenancy.as(caller, 'POST', '/v1/executions', { body, headers });
        assert.equal(answer.status, 200, answer.text);
        ids.push(String(answer.body.execution_id));
      }
    }
    assert.deepEqual([ids[0], ids[2], ids[4]], [ids[1], ids[3], ids[5]]);
    assert.equal(new Set(ids).size, 3);
  });
});
