import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { identityOf } from '../../security/claims.ts';
import { CLAIM_NAMES, type RealmSettings } from '../../security/settings.ts';
import { allows } from '../../security/tenant.ts';
import { SHAPES, type TokenShape } from './token-shapes.ts';

const realm: RealmSettings = {
  slug: 'svc-system',
  kind: 'system',
  issuerUrl: 'https://idp.example',
  jwksUri: 'https://idp.example/jwks',
  audience: 'svc',
};

function identity({ claims, mark }: TokenShape, tenantHeader?: string): Identity {
  const serviceAccounts = { mark: mark ?? { role: 'svc:service' }, tenants: ['acme'] };
  return identityOf(claims, { ...realm, serviceAccounts }, CLAIM_NAMES, tenantHeader);
}

const ACTIONS: Readonly<Record<TokenShape['is'], readonly string[]>> = {
  'service account': ['read', 'run', 'write'],
  'operator who may write': ['read', 'run', 'write', 'inspect', 'operate'],
  'operator who may read': ['read', 'inspect'],
  refused: [],
};
const ALL = ['read', 'run', 'write', 'inspect', 'operate', 'break'] as const;

for (const [provider, shapes] of Object.entries(SHAPES)) {
  describe(`access tokens of a system realm as ${provider} makes them`, () => {
    for (const shape of shapes) {
      it(`${shape.what}: ${shape.is}, and may do no more than that`, () => {
        const found = identity(shape, 'acme');
        const isService = shape.is === 'service account';
        assert.equal(found.kind, isService ? 'service_account' : 'operator');
        assert.equal(found.tenant, isService ? 'acme' : 'svc-system');
        const may = ALL.filter((action) => allows(found, action));
        assert.deepEqual(may, ACTIONS[shape.is]);
        if (!isService) return;
        assert.throws(
          () => identity(shape, 'beta'),
          (error) => error instanceof SvcError && error.code === 'forbidden',
          'a tenant that was not named to it',
        );
      });
    }
  });
}
