import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SecurityContexts } from '../../manifests/node/tools.ts';
import type { GrantRequest, ManifestTool } from '../../manifests/tool/scope.ts';
import type { Identity } from '../../runtime/identity.ts';
import { createSecurityContexts } from '../../security/policy/contexts.ts';
import { commandCeilings, isListed } from '../../security/policy/matching.ts';
import { createToolPolicy } from '../../security/policy/policy.ts';
import { BUILT_IN, TOOL_CONTRACTS } from '../../tools/contracts.ts';
import { createToolGranter } from '../../tools/tool-granter.ts';
import { SPECIFIED_TOOLS } from './specified-tools.ts';

const tables = Object.values(SPECIFIED_TOOLS).flatMap((table) => Object.entries(table));
const names = tables.map(([name]) => name);

const configured = SecurityContexts.parse([
  {
    name: 'tenant-acme-ci',
    capabilities: ['fs.*', 'cmd.run', 'svc.workflow.run', 'svc.workflow.wait', 'svc.runtime.list', 'svc.agent.*'].map(
      (tool_pattern) => ({ tool_pattern }),
    ),
    deny_list: ['svc.agent.delete', 'fs.delete'],
  },
]);
const granter = createToolGranter({ contexts: createSecurityContexts(configured), isListed });

const execution = (tenant: string, security_context?: string, tools?: readonly string[]) => {
  const manifest: ManifestTool[] | null = tools?.map((name) => ({ name, config: {} })) ?? null;
  const request: GrantRequest = {
    ...{ manifest, network: null, filesystem: null },
    ...(security_context === undefined ? {} : { security_context }),
  };
  return () => granter.grant(tenant, request);
};
const caller =
  (kind: Identity['kind'], more: Partial<Identity> = {}) =>
  () =>
    granter.callerGrant({ kind, subject: 'u', tenant: 'acme', roles: [], tier: 'free', ...more });

/** Letter, what it is, and how it is asked. Callers have no execution, so neither files nor commands. */
const CONTEXTS = [
  ['A', 'svc-system-agent-runtime, an execution that names none', execution('acme')],
  ['D', 'svc-system-default, an authoring execution', execution('svc-system', 'svc-system-default')],
  ['O', 'svc-system-operator, an operator', caller('operator', { roles: ['svc:operator'] })],
  ['R', 'svc-system-readonly, one who may only look', caller('operator', { roles: ['svc:readonly'] })],
  ['F', 'free, a consumer', caller('consumer')],
  ['P', 'pro, a consumer', caller('consumer', { tier: 'pro' })],
  ['B', 'business, a user of a tenant', caller('tenant_user', { tier: 'business' })],
  ['E', 'enterprise, a user of a tenant', caller('tenant_user', { tier: 'enterprise' })],
  ['T', 'pro, who administers a tenant', caller('tenant_user', { tier: 'pro', roles: ['svc:admin'] })],
  ['C', 'tenant-acme-ci, configured with a deny list', execution('acme', 'tenant-acme-ci')],
  [
    'N',
    'svc-system-agent-runtime under a manifest that narrows, and asks for more',
    execution(
      'acme',
      undefined,
      ['fs.read', 'web.fetch', 'svc.task.execute', 'svc.task.status', 'svc.task.wait'].concat([
        'svc.task.list',
        'svc.task.logs',
        'svc.task.cancel',
        'svc.task.remove',
        'svc.agent.delete',
      ]),
    ),
  ],
  [
    'X',
    'svc-system-operator under a manifest with a pattern',
    execution('svc-system', 'svc-system-operator', ['svc.system.*', 'fs.list']),
  ],
] as const;

test('every tool of the specification is there by its name, and no other svc.*, fs.*, web.* or cmd.*', () => {
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(BUILT_IN.map(({ name }) => name).sort(), [...names].sort());
  const aliases = [...TOOL_CONTRACTS.keys()].filter((name) => !names.includes(name));
  assert.deepEqual(aliases, ['fs.create.dir']);
});

describe(`${CONTEXTS.length} contexts × ${names.length} tools: each is offered what the specification allows it, and no more`, () => {
  for (const [index, [letter, what, ask]] of CONTEXTS.entries()) {
    test(`${letter}: ${what}`, async () => {
      const offered = new Set((await ask()).tools.map(({ name }) => name));
      const expected = tables.filter(([, marks]) => marks[index] === letter).map(([name]) => name);
      assert.deepEqual([...offered].sort(), expected.sort());
    });
  }

  test('the table has a mark for each', () => {
    const letters = CONTEXTS.map(([letter]) => letter).join('');
    for (const [name, marks] of tables) {
      const fits =
        marks.length === letters.length && [...marks].every((mark, at) => mark === '.' || mark === letters[at]);
      assert.ok(fits, `${name}: ${marks}`);
    }
  });

  test('a tool that is not offered cannot be called either', async () => {
    const policy = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings: commandCeilings([]) });
    for (const [letter, , ask] of CONTEXTS) {
      const grant = await ask();
      const offered = new Set(grant.tools.map(({ name }) => name));
      for (const name of names) {
        const decision = policy.decide(grant, { name, arguments: {} });
        const refused = !decision.allowed && /^Tool(NotAllowed|ExplicitlyDenied)$/.test(decision.reason);
        assert.equal(refused, !offered.has(name), `${letter} ${name}: ${JSON.stringify(decision)}`);
      }
    }
  });

  test('an empty list in a manifest offers nothing, whatever the context', async () => {
    for (const context of [undefined, 'svc-system-default', 'svc-system-operator'])
      assert.deepEqual((await execution('svc-system', context, [])()).tools, []);
  });
});
