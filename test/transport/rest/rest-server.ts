import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { SvcError } from '../../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../../runtime/identity.ts';
import type { Authenticator } from '../../../security/api.ts';
import { createAuthenticator } from '../../../security/authenticator.ts';
import type { Readiness } from '../../../transport/health.ts';
import type { RestLimits } from '../../../transport/rest/limits.ts';
import type { RestServerParts } from '../../../transport/rest/parts.ts';
import { createRestServer } from '../../../transport/rest/server.ts';
import { FakeCatalog } from './fake-catalog.ts';
import { FakeExecutions } from './fake-executions.ts';

export const MANIFEST = 'metadata:\n  name: writer\n  version: 1.0.0\n';
export const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const users: Record<string, Identity> = {
  reader: { kind: 'operator', subject: 'r', tenant: SYSTEM_TENANT, roles: ['svc:readonly'], tier: 'free' },
  roleless: { kind: 'operator', subject: 'n', tenant: SYSTEM_TENANT, roles: [], tier: 'free' },
  operator: { kind: 'operator', subject: 'o', tenant: SYSTEM_TENANT, roles: ['svc:operator'], tier: 'free' },
  admin: { kind: 'operator', subject: 'ada', tenant: SYSTEM_TENANT, roles: ['svc:admin'], tier: 'free' },
  client: { kind: 'service_account', subject: 'c', tenant: 'alice', roles: [], tier: 'free' },
  consumer: { kind: 'consumer', subject: 'u', tenant: 'u-u', roles: [], tier: 'free' },
  alice: { kind: 'tenant_user', subject: 'a', tenant: 'alice', roles: ['svc:admin'], tier: 'free' },
  bob: { kind: 'tenant_user', subject: 'b', tenant: 'bob', roles: ['svc:admin'], tier: 'free' },
};

/** Tokens are the names of the users above. */
export const namedUsers: Authenticator = {
  required: true,
  async authenticate({ authorization }) {
    const user = users[authorization?.replace(/^Bearer /, '') ?? ''];
    if (user === undefined) throw new SvcError('unauthenticated');
    return user;
  },
};

export interface RestServerOptions
  extends Pick<
    RestServerParts,
    | 'cluster'
    | 'dashboard'
    | 'peers'
    | 'providers'
    | 'runs'
    | 'chaos'
    | 'approvals'
    | 'stimuli'
    | 'stimulusRoutes'
    | 'webhooks'
    | 'tierLimits'
    | 'workflows'
    | 'volumes'
    | 'mcp'
    | 'origins'
    | 'seal'
  > {
  readonly limits?: Partial<RestLimits>;
  readonly authenticator?: Authenticator;
}

/** A server on a real socket in front of fakes. */
export async function restServer({ limits, authenticator, ...parts }: RestServerOptions = {}) {
  const agents = new FakeCatalog();
  const executions = new FakeExecutions();
  const readiness: { now: Readiness } = { now: { ready: true } };
  const logged: string[] = [];
  const app = createRestServer({
    agents,
    executions,
    ...parts,
    authenticator: authenticator ?? createAuthenticator({ realms: [] }),
    logger: pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) }),
    version: '0.0.1-test',
    health: { ready: async () => readiness.now },
    limits: { closeGraceMs: 1_000, ...limits },
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const port = (app.server.address() as AddressInfo).port;
  const base = `http://127.0.0.1:${port}`;
  const call = async (method: string, path: string, init: RequestInit = {}) => {
    const response = await fetch(base + path, { method, ...init });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  };
  const postJson = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    call('POST', path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } });
  const deploy = async (): Promise<string> =>
    (await call('POST', '/v1/agents', { body: MANIFEST, headers: { 'content-type': 'application/yaml' } })).body
      .agent_id;
  const startRun = async (): Promise<string> =>
    (await postJson('/v1/executions', { agent_id: await deployed(), input: 'hi' })).body.execution_id;
  let agentId: string | undefined;
  const deployed = async () => {
    agentId ??= await deploy();
    return agentId;
  };
  return {
    app,
    agents,
    executions,
    readiness,
    logged,
    port,
    base,
    call,
    postJson,
    deployed,
    startRun,
    async [Symbol.asyncDispose]() {
      await app.close();
    },
  };
}
