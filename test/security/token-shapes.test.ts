import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { identityOf } from '../../security/claims.ts';
import { CLAIM_NAMES, type RealmSettings, type ServiceAccounts } from '../../security/settings.ts';
import { allows } from '../../security/tenant.ts';

/** A token as an identity provider makes it, in a realm of kind `system`, and who its bearer is. */
interface TokenShape {
  readonly what: string;
  readonly mark?: ServiceAccounts['mark'];
  readonly claims: Readonly<Record<string, unknown>>;
  readonly is: 'service account' | 'operator who may write' | 'operator who may read' | 'refused';
}

const clients = (...ids: string[]): ServiceAccounts['mark'] => ({ clients: ids });
const claim = (name: string, value: string): ServiceAccounts['mark'] => ({ claim: { name, value } });

const UUID = 'f1e8c1b0-24a4-4c8e-8a3c-1f1b0c4d2e3f';
/** Keycloak: `azp` in every token; `sid` where someone logged in; lightweight ones omit all that names a person. */
const keycloakLogin = {
  sub: UUID,
  azp: 'console',
  sid: 'b6a7',
  acr: '1',
  scope: 'openid profile email',
  typ: 'Bearer',
};
const keycloakClient = { sub: UUID, azp: 'ci', acr: '1', scope: 'profile email', typ: 'Bearer' };
const serviceUser = { preferred_username: 'service-account-ci', client_id: 'ci', clientHost: '10.0.0.7' };

/** Auth0: `gty` says which grant; the access token of a person has nothing personal unless an action adds it. */
const auth0Login = { sub: 'auth0|507f1f77', azp: 'cli3nt', scope: 'openid profile', gty: 'password' };
const auth0Client = { sub: 'cli3nt@clients', azp: 'cli3nt', gty: 'client-credentials' };

/** Entra ID: `idtyp` is an optional claim, `scp` is in delegated tokens only, `roles` holds app roles. */
const entraLogin = { sub: 'AAAAx', oid: UUID, azp: '11aa', azpacr: '0', scp: 'access_as_user', tid: 't', ver: '2.0' };
const entraClient = { sub: UUID, oid: UUID, azp: '22bb', azpacr: '1', tid: 't', ver: '2.0' };

/** Okta: `cid` names the client, `uid` the person. */
const oktaLogin = { sub: 'ada@example.com', cid: '0oa1', uid: '00u1', scp: ['openid'], ver: 1 };
const oktaClient = { sub: '0oa2', cid: '0oa2', scp: ['svc'], ver: 1 };

/** By provider, from what their documentation shows. */
const SHAPES: Readonly<Record<string, readonly TokenShape[]>> = {
  Keycloak: [
    { what: 'a person without a role', claims: { ...keycloakLogin, email: 'a@b', name: 'Ada' }, is: 'refused' },
    { what: 'a person, lightweight token', claims: keycloakLogin, is: 'refused' },
    { what: 'a person, lightweight token without sid', claims: { ...keycloakLogin, sid: undefined }, is: 'refused' },
    {
      what: 'a person who is called service-account-evil',
      claims: { ...keycloakLogin, preferred_username: 'service-account-evil' },
      is: 'refused',
    },
    { what: 'a person with an empty list of roles', claims: { ...keycloakLogin, svc_role: [] }, is: 'refused' },
    {
      what: 'an operator, lightweight token',
      claims: { ...keycloakLogin, svc_role: ['svc:operator', 'default-roles-svc'] },
      is: 'operator who may write',
    },
    { what: 'a reader', claims: { ...keycloakLogin, svc_role: 'svc:readonly' }, is: 'operator who may read' },
    { what: 'a client without a mark', claims: { ...keycloakClient, ...serviceUser }, is: 'refused' },
    {
      what: 'a client with the role svc:service',
      claims: { ...keycloakClient, ...serviceUser, svc_role: ['svc:service'] },
      is: 'service account',
    },
    {
      what: 'a client on the list',
      mark: clients('ci'),
      claims: { ...keycloakClient, ...serviceUser },
      is: 'service account',
    },
    {
      what: 'a client on the list, lightweight token',
      mark: clients('ci'),
      claims: keycloakClient,
      is: 'service account',
    },
    {
      what: 'a person who logged in by a client of the list',
      mark: clients('ci'),
      claims: { ...keycloakLogin, azp: 'ci' },
      is: 'refused',
    },
    {
      what: 'a person by a client of the list, named as another client',
      mark: clients('ci'),
      claims: { ...keycloakClient, preferred_username: 'service-account-other' },
      is: 'refused',
    },
    { what: 'a client beside the list', mark: clients('ci'), claims: { ...keycloakClient, azp: 'ci2' }, is: 'refused' },
    {
      what: 'the role where clients are the mark',
      mark: clients('x'),
      claims: { ...keycloakClient, svc_role: 'svc:service' },
      is: 'refused',
    },
  ],
  Auth0: [
    { what: 'a person', claims: auth0Login, is: 'refused' },
    { what: 'a person, no grant said', claims: { ...auth0Login, gty: undefined }, is: 'refused' },
    { what: 'an operator', claims: { ...auth0Login, svc_role: 'svc:operator' }, is: 'operator who may write' },
    { what: 'a machine without a mark', claims: auth0Client, is: 'refused' },
    { what: 'a machine on the list', mark: clients('cli3nt'), claims: auth0Client, is: 'service account' },
    {
      what: 'a machine by its grant',
      mark: claim('gty', 'client-credentials'),
      claims: auth0Client,
      is: 'service account',
    },
    { what: 'a person by the grant mark', mark: claim('gty', 'client-credentials'), claims: auth0Login, is: 'refused' },
    {
      what: 'a person by a client of the list, with e-mail',
      mark: clients('cli3nt'),
      claims: { ...auth0Login, email: 'a@b' },
      is: 'refused',
    },
    {
      what: 'a person by a client of the list, nothing personal but the subject',
      mark: clients('cli3nt'),
      claims: { ...auth0Login, gty: undefined },
      is: 'refused',
    },
    {
      what: 'a machine with a permission alone',
      claims: { ...auth0Client, permissions: ['svc:service'] },
      is: 'refused',
    },
  ],
  Entra: [
    { what: 'a person', claims: { ...entraLogin, name: 'Ada', preferred_username: 'ada@x' }, is: 'refused' },
    { what: 'a person, nothing personal', claims: entraLogin, is: 'refused' },
    { what: 'an application without a mark', claims: entraClient, is: 'refused' },
    {
      what: 'an application by idtyp',
      mark: claim('idtyp', 'app'),
      claims: { ...entraClient, idtyp: 'app' },
      is: 'service account',
    },
    { what: 'a person by idtyp', mark: claim('idtyp', 'app'), claims: { ...entraLogin, idtyp: 'user' }, is: 'refused' },
    {
      what: 'an application role',
      mark: claim('roles', 'svc:service'),
      claims: { ...entraClient, roles: ['svc:service'] },
      is: 'service account',
    },
    { what: 'an application on the list', mark: clients('22bb'), claims: entraClient, is: 'service account' },
    {
      what: 'an application on the list, version 1',
      mark: clients('22bb'),
      claims: { sub: UUID, oid: UUID, appid: '22bb', appidacr: '1', ver: '1.0' },
      is: 'service account',
    },
    {
      what: 'a person by an application of the list',
      mark: clients('22bb'),
      claims: { ...entraLogin, azp: '22bb' },
      is: 'refused',
    },
  ],
  Okta: [
    { what: 'a person', claims: oktaLogin, is: 'refused' },
    { what: 'an operator', claims: { ...oktaLogin, svc_role: ['svc:operator'] }, is: 'operator who may write' },
    { what: 'a service without a mark', claims: oktaClient, is: 'refused' },
    { what: 'a service on the list', mark: clients('0oa2'), claims: oktaClient, is: 'service account' },
    { what: 'a person by a client of the list', mark: clients('0oa1'), claims: oktaLogin, is: 'refused' },
    { what: 'a service with the role', claims: { ...oktaClient, svc_role: 'svc:service' }, is: 'service account' },
  ],
};

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
