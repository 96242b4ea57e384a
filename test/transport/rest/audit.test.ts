import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRestServer } from '../../../transport/rest/server.ts';
import { UNRECORDED } from '../../../usecases/audited-operations.ts';
import { auditOf, auditStore, entriesOf } from '../../security/audit/audit-store.ts';
import { describedNode, wholeNode } from './whole-node.ts';

const UUID = '00000000-0000-4000-8000-000000000000';
const CANARY = 'canary-of-a-secret';

/** Requests that pass the schema of an operation, with a canary in every value of the caller. */
interface Sent {
  readonly body?: object;
  readonly yaml?: string;
  readonly query?: string;
}

const CALLS: Readonly<Record<string, Sent>> = {
  'agents.set_status': { body: { status: 'paused' } },
  'agents.change_scope': { body: { action: 'promote' } },
  'agents.deploy': { yaml: CANARY },
  'agents.generate': { body: { input: CANARY } },
  'workflows.set_status': { body: { status: 'paused' } },
  'workflows.change_scope': { body: { action: 'promote' } },
  'workflows.deploy': { yaml: CANARY },
  'workflows.generate': { body: { input: CANARY } },
  'workflow_executions.signal': { body: { response: CANARY } },
  'approvals.approve': { body: { feedback: CANARY } },
  'approvals.reject': { body: { reason: CANARY } },
  'stimuli.put_route': { body: { workflow: 'w' } },
  'volumes.create': { body: { name: 'v' } },
  'patterns.store': {
    body: { error_signature: CANARY, error_type: 't', error_message: CANARY, solution_approach: CANARY },
  },
  'api_keys.create': { body: { name: 'k' } },
  'rate_limits.put_override': { body: { tenant: 'acme', rates: {} } },
  'rate_limits.remove_override': { query: '?tenant=acme' },
  'secrets.put': { body: { value: CANARY } },
  'join_tokens.create': { body: {} },
  'dead_letters.replay': { body: {} },
  'dead_letters.discard': { body: { reason: CANARY } },
  'faults.inject': { body: { kind: 'kill-node', node: 'n' } },
  'cluster.put_config': { yaml: CANARY },
  'model_providers.put': { body: { type: 'ollama', models: [{ alias: 'a', model: CANARY }] } },
  'model_providers.put_model': { body: { model: CANARY } },
  'volume_files.write': { query: '?path=/a', yaml: CANARY },
  'volume_files.delete': { query: '?path=/a' },
  'volume_files.mkdir': { body: { path: '/a' } },
};

const OF_FLEET = /\/(?:cluster|admin|chaos)\//;

/** Every route that writes, with its operation. */
async function changes(): Promise<readonly (readonly [method: string, path: string, operation: string])[]> {
  const { operationIds } = await describedNode();
  return Object.entries(operationIds)
    .map(([route, operation = '']) => [...route.split(' '), operation] as [string, string, string])
    .filter(([method]) => method !== 'GET');
}

/** A node whose parts fail, and the audit entries of calls by these users. */
async function calls(userOf: (path: string) => string | null) {
  await using store = await auditStore();
  const { audit } = auditOf(store.blocks);
  await using app = createRestServer({ ...wholeNode(), operationAudit: audit });
  for (const [method, path, operation] of await changes()) {
    const { body, yaml, query = '' } = CALLS[operation] ?? {};
    const user = userOf(path);
    await app.inject({
      method: method as 'POST',
      url: path.replaceAll(/\{\w+\}/g, UUID) + query,
      headers: {
        ...(user === null ? {} : { authorization: `Bearer ${user}` }),
        ...(yaml === undefined ? {} : { 'content-type': 'application/yaml' }),
      },
      payload: yaml ?? body,
    });
  }
  await audit.close('the test ends', 5_000);
  const tenants = ['acme', 'alice', 'svc-system', 'u-u'];
  return (await Promise.all(tenants.map((tenant) => entriesOf(store.blocks, tenant)))).flat();
}

describe('the audit of REST', () => {
  it('every operation that is no read leaves exactly one entry, or the table says why it leaves none', async () => {
    const entries = await calls((path) => (OF_FLEET.test(path) ? 'admin' : 'alice'));
    const expected = (await changes()).map(([, , operation]) => operation).filter((name) => !(name in UNRECORDED));
    assert.deepEqual(entries.map(({ operation }) => operation).sort(), expected.sort());
    assert.ok(entries.every(({ outcome }) => outcome === 'failed'));
    const named = entries.filter(({ target }) => target?.includes(UUID));
    assert.ok(named.length > 20, `${named.length} entries name their target`);
  });

  it('names in the table of those without an entry only what is there', async () => {
    const known = new Set([...(await changes()).map(([, , operation]) => operation), '/mcp']);
    assert.deepEqual(
      Object.keys(UNRECORDED).filter((name) => !known.has(name)),
      [],
    );
  });

  it('a denial of every operation leaves an entry with caller and reason, starts and reads too', async () => {
    const open = ['webhooks.receive'];
    // A reader may have keys of its own, check a manifest, and call the tools that read.
    const ofReader = ['api_keys.create', 'api_keys.revoke', 'api_keys.validate'];
    ofReader.push('agents.validate', 'workflows.validate', 'tools.call');
    for (const { user, subject, allowed } of [
      { user: 'reader', subject: 'r', allowed: [...open, ...ofReader] },
      { user: 'roleless', subject: 'n', allowed: open },
    ]) {
      const entries = await calls(() => user);
      const denied = entries.filter(({ outcome }) => outcome === 'denied');
      const callers = new Set(denied.map((entry) => `${entry.subject} ${entry.error}`));
      assert.deepEqual([...callers], [`${subject} forbidden`]);
      assert.ok(denied.every(({ reason }) => /does not allow/.test(reason ?? '')));
      const expected = (await changes()).map(([, , operation]) => operation).filter((name) => !allowed.includes(name));
      assert.deepEqual([...new Set(denied.map(({ operation }) => operation))].sort(), expected.sort(), user);
    }
  });

  it('a denial because of the scopes of an API key names its owner', async () => {
    await using store = await auditStore();
    const { audit } = auditOf(store.blocks);
    const owner = { kind: 'tenant_user', subject: 'a', tenant: 'alice', roles: ['svc:admin'], tier: 'free' } as const;
    const key = { id: UUID, scopes: ['agents:read'], expiresAt: Number.MAX_SAFE_INTEGER };
    const authenticator = { required: true, authenticate: async () => ({ ...owner, roles: [...owner.roles], key }) };
    await using app = createRestServer({ ...wholeNode(), authenticator, operationAudit: audit });
    await app.inject({ method: 'DELETE', url: `/v1/agents/${UUID}` });
    await audit.close('the test ends', 5_000);
    const [denied] = await entriesOf(store.blocks, 'alice');
    assert.deepEqual(
      [denied?.subject, denied?.error, denied?.reason],
      ['a', 'forbidden', 'The API key lacks scope agents:write.'],
    );
  });

  it('calls without a caller are counted in the tenant of the node', async () => {
    const entries = await calls(() => null);
    assert.deepEqual(
      entries.map(({ subject, outcome, error, address }) => [subject, outcome, error, address]),
      [
        [null, 'denied', 'unauthenticated', '127.0.0.1'],
        [null, 'denied', 'unauthenticated', '127.0.0.1'],
      ],
    );
    assert.equal(entries[0]?.count, 1);
    assert.ok((entries[1]?.count ?? 0) > 30);
  });

  it('no entry holds what a caller sent', async () => {
    const all = [
      ...(await calls((path) => (OF_FLEET.test(path) ? 'admin' : 'alice'))),
      ...(await calls(() => 'reader')),
    ];
    assert.equal(JSON.stringify(all).includes(CANARY), false);
  });
});
