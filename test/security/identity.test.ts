import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SvcError } from '../../runtime/errors.ts';
import { amongRealms, identityOf, UnusableClaim } from '../../security/claims.ts';
import { CLAIM_NAMES, type RealmKind, type RealmSettings, type ServiceAccounts } from '../../security/settings.ts';

const realm = (kind: RealmKind, slug = 'acme'): RealmSettings => ({
  slug,
  kind,
  issuerUrl: 'https://idp.example',
  jwksUri: 'https://idp.example/jwks',
  audience: 'svc',
});
const identity = (
  kind: RealmKind,
  claims: Record<string, unknown>,
  tenantHeader?: string,
  serviceAccounts?: ServiceAccounts,
) => {
  const marked = serviceAccounts === undefined ? {} : { serviceAccounts };
  return identityOf({ sub: 's1', ...claims }, { ...realm(kind), ...marked }, CLAIM_NAMES, tenantHeader);
};

describe('identity of a token', () => {
  it('the claim that marks service accounts in a realm makes the caller one, in svc-system without a header', () => {
    const found = identity('system', { azp: 'ci', svc_role: 'svc:service' });
    assert.deepEqual([found.kind, found.tenant, found.tier], ['service_account', 'svc-system', 'free']);
  });

  it('a token without claims of a person is no service account, whatever its name', () => {
    for (const claims of [{ azp: 'ci' }, { azp: 'ci', preferred_username: 'service-account-ci' }, {}]) {
      const found = identity('system', claims, 'acme');
      assert.deepEqual([found.kind, found.tenant, found.roles], ['operator', 'svc-system', []]);
    }
  });

  it('a client with an unknown role gets no rights', () => {
    const found = identity('system', { azp: 'ci', svc_role: 'svc:god' }, 'acme');
    assert.deepEqual([found.kind, found.tenant, found.roles], ['operator', 'svc-system', []]);
  });

  it('X-Tenant-Id moves a service account to its allowed tenants only, and no other caller', () => {
    const service = { svc_role: 'svc:service' };
    const refused = (error: unknown): boolean => error instanceof SvcError && error.code === 'forbidden';
    assert.throws(() => identity('system', service, 'acme'), refused, 'no tenant was named');
    assert.equal(identity('system', service, 'svc-system').tenant, 'svc-system');
    const of = (tenants: readonly string[], header: string) =>
      identity('system', service, header, { mark: { role: 'svc:service' }, tenants });
    assert.equal(of(['acme'], 'acme').tenant, 'acme');
    assert.throws(() => of(['acme'], 'beta'), refused);
    assert.equal(of(['*'], 'beta').tenant, 'beta');
    assert.equal(identity('system', { svc_role: 'svc:admin' }, 'acme').tenant, 'svc-system');
    assert.equal(identity('consumer', { tenant_id: 'mine' }, 'acme').tenant, 'mine');
    assert.equal(identity('tenant', {}, 'victim').tenant, 'acme');
  });

  it('a service account has the roles beside the one that marks it, and no others', () => {
    const reader = identity('system', { svc_role: ['svc:service', 'svc:readonly'] });
    assert.deepEqual([reader.kind, reader.roles], ['service_account', ['svc:readonly']]);
  });

  it('the claim that marks service accounts of the system realm has no effect in other realms', () => {
    assert.equal(identity('consumer', { svc_role: 'svc:service' }, 'acme').kind, 'consumer');
    assert.equal(identity('tenant', { svc_role: 'svc:service' }, 'victim').kind, 'tenant_user');
  });

  it('a bad X-Tenant-Id is refused for a service account and ignored for others', () => {
    for (const header of ['', 'A', '../x', 'a/b', '-a', 'a'.repeat(64), 'a b', 'a\n', '*']) {
      assert.throws(
        () => identity('system', { svc_role: 'svc:service' }, header),
        (error) => error instanceof SvcError && error.code === 'invalid_argument' && error.field === 'X-Tenant-Id',
        header,
      );
      assert.equal(identity('tenant', {}, header).tenant, 'acme');
    }
  });

  it('a consumer has the tenant of the claim, else one of its own', () => {
    assert.equal(identity('consumer', { tenant_id: 't-7' }).tenant, 't-7');
    assert.equal(identity('consumer', { sub: 'abc-1' }).tenant, 'u-abc-1');
    assert.match(identity('consumer', { sub: 'auth0|Ünï/../x' }).tenant, /^u-[0-9a-f]{40}$/);
  });

  it('a consumer can never be in svc-system or in a tenant that is no slug', () => {
    for (const tenant_id of ['svc-system', '../x', '', 7, null]) {
      assert.throws(() => identity('consumer', { tenant_id }), UnusableClaim, String(tenant_id));
    }
  });

  describe('one subject in several realms', () => {
    const of = (kind: RealmKind, slug: string): RealmSettings => ({
      ...realm(kind, slug),
      issuerUrl: `https://idp.example/${slug}`,
    });
    const realms = [of('consumer', 'people'), of('tenant', 'acme'), of('consumer', 'others'), of('system', 'staff')];
    const among = amongRealms(realms);
    const ofRealm = (slug: string, claims: Record<string, unknown> = {}) => {
      const found = realms.find((one) => one.slug === slug) ?? assert.fail();
      return identityOf({ sub: 'carl', ...claims }, found, CLAIM_NAMES, undefined, among.get(found.issuerUrl));
    };

    it('is another user in each: neither tenant nor subject is shared', () => {
      const [first, second] = [ofRealm('people'), ofRealm('others')];
      assert.deepEqual([first.subject, first.tenant], ['carl', 'u-carl']);
      assert.equal(second.subject, 'others/carl');
      assert.match(second.tenant, /^u-[0-9a-f]{40}$/);
      const both = ['people', 'others'].map((slug) => ofRealm(slug, { tenant_id: 'family' }));
      assert.deepEqual(
        both.map(({ tenant, subject }) => [tenant, subject]),
        [
          ['family', 'carl'],
          ['family', 'others/carl'],
        ],
      );
      assert.equal(ofRealm('acme').subject, 'carl');
    });

    it('enters no tenant that has a realm of its own by a claim', () => {
      assert.throws(() => ofRealm('people', { tenant_id: 'acme' }), UnusableClaim);
      assert.throws(() => ofRealm('others', { tenant_id: 'acme' }), UnusableClaim);
    });
  });

  it('a consumer keeps no role that could write', () => {
    assert.deepEqual(identity('consumer', { svc_role: ['svc:admin', 'svc:readonly'] }).roles, ['svc:readonly']);
  });

  it('reads the tier whatever its case, and free when it is unknown', () => {
    assert.equal(identity('consumer', { svc_tier: 'PRO' }).tier, 'pro');
    assert.equal(identity('consumer', { svc_tier: 'gold' }).tier, 'free');
  });
});
