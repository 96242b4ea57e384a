import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SecurityContexts } from '../../../manifests/node/tools.ts';
import type { GrantRequest } from '../../../manifests/tool/scope.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { ANSWERING, AUTHORING, OPERATING, READING, RUNNING } from '../../../security/policy/built-in.ts';
import { createSecurityContexts } from '../../../security/policy/contexts.ts';
import { isListed } from '../../../security/policy/matching.ts';
import { fitsGlob } from '../../../security/policy/paths.ts';
import { SKIP_JUDGE } from '../../../tools/contract/arguments.ts';
import { processorMs } from '../../support/processor-time.ts';
import { refused } from '../../support/refused.ts';

const configured = SecurityContexts.parse([
  { name: 'research', capabilities: [{ tool_pattern: 'web.*' }] },
  { name: 'tenant-acme-ci', capabilities: [{ tool_pattern: 'fs.*' }] },
  { name: 'tenant-acme-dev-ci', tenant: 'acme-dev' },
  { name: 'lent', tenant: 'acme' },
]);
const contexts = createSecurityContexts(configured, {
  mcpServers: ['demo-server'],
  isAuthor: (agentId) => agentId === 'author',
});
const request = (security_context?: string): GrantRequest => ({
  ...(security_context === undefined ? {} : { security_context }),
  manifest: null,
  network: null,
  filesystem: null,
});
const identity = (kind: Identity['kind'], more: Partial<Identity> = {}): Identity => ({
  kind,
  subject: 'u',
  tenant: 'acme',
  roles: [],
  tier: 'free',
  ...more,
});
const SVC = [...READING, ...RUNNING, ...ANSWERING, ...AUTHORING, ...OPERATING];
const OTHERS = ['fs.read', 'fs.write', 'cmd.run', 'web.search', 'web.fetch', 'demo-server.add', 'other.add'];
const listed = (scope: ReturnType<typeof contexts.scopeFor>): string[] =>
  [...SVC, ...OTHERS].filter((name) => isListed(scope, { name, source: 'builtin' }));

describe('which context an execution may name', () => {
  const rows: readonly [string, string | undefined, 'may' | 'forbidden' | 'not_found'][] = [
    ['acme', undefined, 'may'],
    ['acme', 'svc-system-agent-runtime', 'may'],
    ['acme', 'svc-system-default', 'forbidden'],
    ['acme', 'svc-system-operator', 'forbidden'],
    ['acme', 'svc-system-nothing', 'forbidden'],
    ['svc-system', 'svc-system-default', 'may'],
    ['svc-system', 'svc-system-operator', 'may'],
    ['acme', 'enterprise', 'forbidden'],
    ['acme', 'research', 'may'],
    ['acme', 'nothing', 'not_found'],
    ['acme', 'tenant-acme-ci', 'may'],
    ['other', 'tenant-acme-ci', 'forbidden'],
    ['svc-system', 'tenant-acme-ci', 'forbidden'],
    ['acme-dev', 'tenant-acme-dev-ci', 'may'],
    ['acme', 'tenant-acme-dev-ci', 'forbidden'],
    ['acme', 'lent', 'may'],
    ['other', 'lent', 'forbidden'],
    ['other', 'tenant-acme-nothing', 'forbidden'],
    ['acme', 'tenant-acme-nothing', 'not_found'],
  ];
  for (const [tenant, name, outcome] of rows)
    test(`${tenant}, ${name ?? 'none'}: ${outcome}`, () => {
      const ask = () => contexts.scopeFor(tenant, request(name)).security_context;
      if (outcome === 'may') assert.equal(ask(), name ?? 'svc-system-agent-runtime');
      else assert.throws(ask, refused(outcome));
    });
});

describe('which context an authoring agent of the product may name', () => {
  const ask = (agent_id: string, name: string) => contexts.scopeFor('acme', { ...request(name), agent_id });

  test('svc-system-default in every tenant, by its id', () => {
    assert.equal(ask('author', 'svc-system-default').security_context, 'svc-system-default');
    assert.throws(() => ask('another', 'svc-system-default'), refused('forbidden'));
  });

  test('no other context of the system', () => {
    assert.throws(() => ask('author', 'svc-system-operator'), refused('forbidden'));
    assert.throws(() => ask('author', 'enterprise'), refused('forbidden'));
  });
});

describe('what the built-in contexts hold', () => {
  const scopes = {
    runtime: contexts.scopeFor('acme', request()),
    system: contexts.scopeFor('svc-system', request('svc-system-default')),
    operator: contexts.callerScope(identity('operator', { roles: ['svc:operator'] })),
    free: contexts.callerScope(identity('consumer')),
    pro: contexts.callerScope(identity('consumer', { tier: 'pro' })),
  };
  const WEB = ['web.search', 'web.fetch'];
  const expected: Record<keyof typeof scopes, string[]> = {
    runtime: [...READING, ...RUNNING, 'fs.read', 'fs.write', 'cmd.run', ...WEB, 'demo-server.add'],
    system: [...READING, ...RUNNING, ...ANSWERING, ...AUTHORING, ...OTHERS],
    operator: [...SVC, ...OTHERS],
    free: [...READING, ...RUNNING.filter((name) => name !== 'svc.workflow.signal'), ...ANSWERING, ...WEB],
    pro: [...READING, ...RUNNING, ...ANSWERING, ...WEB],
  };
  for (const [name, scope] of Object.entries(scopes))
    test(name, () => assert.deepEqual(listed(scope), expected[name as keyof typeof scopes]));

  test('agents have files under /workspace alone', () => {
    const [files] = scopes.runtime.capabilities;
    assert.deepEqual(files, { tool_pattern: 'fs.*', path_allowlist: ['/workspace/**'] });
  });

  test('every tool of the specification is in exactly one list', () => {
    assert.equal(new Set(SVC).size, SVC.length);
    const specified = [...SKIP_JUDGE.keys()].filter((name) => name.startsWith('svc.'));
    assert.deepEqual([...SVC].sort(), [...specified, 'svc.execute'].sort());
  });
});

describe('which context a caller has', () => {
  const rows: readonly [string, Identity, string][] = [
    ['the local operator', identity('local'), 'svc-system-operator'],
    ['an operator', identity('operator', { roles: ['svc:admin'] }), 'svc-system-operator'],
    ['an operator who may look', identity('operator', { roles: ['svc:readonly'] }), 'svc-system-readonly'],
    ['an operator without a role', identity('operator'), 'svc-system-readonly'],
    ['a service account', identity('service_account'), 'svc-system-default'],
    [
      'a service account that may look',
      identity('service_account', { roles: ['svc:readonly'] }),
      'svc-system-readonly',
    ],
    ['a consumer', identity('consumer', { tier: 'business' }), 'business'],
    ['a consumer with a role', identity('consumer', { roles: ['svc:admin'] }), 'free'],
    ['a tenant user', identity('tenant_user', { tier: 'enterprise' }), 'enterprise'],
    ['a tenant user who may look', identity('tenant_user', { roles: ['svc:readonly'] }), 'svc-system-readonly'],
  ];
  for (const [title, who, name] of rows)
    test(`${title}: ${name}`, () => assert.equal(contexts.callerScope(who).security_context, name));

  test("a tenant's admin may deploy, a consumer with the role may not", () => {
    const roles = ['svc:admin'];
    const offered = listed(contexts.callerScope(identity('tenant_user', { roles })));
    for (const tool of ['svc.workflow.promote', 'svc.workflow.signal']) assert.ok(offered.includes(tool), tool);
    assert.ok(!listed(contexts.callerScope(identity('consumer', { roles }))).includes('svc.workflow.promote'));
  });

  test('an actor has no context', () => {
    assert.throws(() => contexts.callerScope(identity('actor')), refused('forbidden'));
  });
});

test('a context with a built-in name, a name that occurs twice, or a tenant that does not fit its name is refused', () => {
  const bad = [
    [{ name: 'svc-system-agent-runtime' }],
    [{ name: 'svc-system-mine' }],
    [{ name: 'enterprise' }],
    [{ name: 'a' }, { name: 'a' }],
    [{ name: 'tenant-acme-dev-ci' }],
    [{ name: 'tenant-acme' }],
    [{ name: 'tenant-acme-ci', tenant: 'other' }],
  ];
  for (const given of bad) assert.ok(!SecurityContexts.safeParse(given).success, JSON.stringify(given));
});

test('* matches within one path segment and ** over several, in time linear in the length of the path', () => {
  const rows: readonly [string, string, boolean][] = [
    ['/x/**', '/x', true],
    ['/x/**', '/x/a/b', true],
    ['/x/**', '/xy', false],
    ['/x/*', '/x/a', true],
    ['/x/*', '/x/.a', true],
    ['/x/*', '/x/a/b', false],
    ['/x/*', '/x', false],
    ['/x/**/c', '/x/c', true],
    ['/x/**/c', '/x/a/b/c', true],
    ['/x/**/c', '/x/abc', false],
    ['/x/*.md', '/x/a.md', true],
    ['/x/*.md', '/x/aXmd', false],
    ['/*/x/**', '/a/x', true],
    ['/x/a?', '/x/ab', true],
    ['/x/a?', '/x/a/', false],
    ['/{a,b}/**', '/b/c', true],
    ['/{a,b}/**', '/c/c', false],
    ['/x/[ab]', '/x/a', false],
    ['/x(y)+', '/x(y)+', true],
    ['/**', '/', true],
    ['/x', '/x/a', false],
  ];
  for (const [pattern, path, fits] of rows) assert.equal(fitsGlob(pattern, path), fits, `${pattern} ${path}`);
  const tookMs = processorMs(() => assert.equal(fitsGlob(`/${'*a'.repeat(30)}`, `/${'a'.repeat(4_000)}b`), false));
  assert.ok(tookMs < 1_000, `a pattern blocks the node for ${tookMs} ms`);
});
