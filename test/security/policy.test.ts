import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Identity } from '../../runtime/identity.ts';
import { type Action, requireRole } from '../../security/api.ts';

const ACTIONS: Action[] = ['read', 'run', 'write', 'audit', 'inspect', 'operate', 'break'];
const table: [Identity['kind'], string[], Action[]][] = [
  ['local', ['svc:admin'], ACTIONS],
  ['operator', ['svc:admin'], ACTIONS],
  ['operator', ['svc:operator'], ['read', 'run', 'write', 'audit', 'inspect', 'operate']],
  ['operator', ['svc:readonly'], ['read', 'audit', 'inspect']],
  ['operator', [], []],
  ['service_account', [], ['read', 'run', 'write', 'audit']],
  ['service_account', ['svc:readonly'], ['read', 'audit']],
  ['consumer', [], ['read', 'run']],
  ['consumer', ['svc:admin'], ['read', 'run']],
  ['consumer', ['svc:readonly'], ['read']],
  ['tenant_user', [], ['read', 'run']],
  ['tenant_user', ['svc:admin'], ['read', 'run', 'write', 'audit']],
  ['tenant_user', ['svc:readonly'], ['read', 'audit']],
  ['actor', ['svc:admin'], []],
];

for (const [kind, roles, allowed] of table) {
  it(`${kind} with roles [${roles}] may exactly [${allowed}]`, () => {
    const identity: Identity = { kind, subject: 's', tenant: 't', roles, tier: 'free' };
    const granted = ACTIONS.filter((action) => {
      try {
        requireRole(identity, action);
        return true;
      } catch (error) {
        assert.equal(error instanceof Error && 'code' in error ? error.code : error, 'forbidden');
        return false;
      }
    });
    assert.deepEqual(granted, allowed);
  });
}
