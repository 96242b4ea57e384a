import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { NEEDS_SANDBOX } from '../../support/needs-sandbox.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { Realms } from '../realms.ts';
import { type Identified, IndependentAgent } from './independent-agent.ts';
import { SealNode } from './seal-node.ts';
import type { Headers, SealClient } from './transports.ts';

describe('SEAL behind identity providers', NEEDS_SANDBOX, () => {
  let realms: Realms;
  let at: SealNode;
  let admin: Headers;
  let reader: Headers;
  let stranger: Headers;
  let running: Identified;
  let outer: readonly SealClient[];
  let inner: readonly SealClient[];
  before(async () => {
    realms = await Realms.open();
    admin = await realms.headers('alphaAdmin');
    stranger = await realms.headers('betaAdmin');
    reader = await realms.headersWith('alpha', { sub: 'rolf', svc_role: 'svc:readonly' });
    const runtime = { host_commands: { allow: ['alpha'] } };
    // Tiers have no limits in these realms; one user has a limit.
    const users = { 'alpha/andy': { tools: { 'svc.tools.list': { minute: 30 } } } };
    const rate_limits = Object.assign({}, realms.spec.rate_limits, { users });
    at = await SealNode.start({ spec: { ...realms.spec, rate_limits, runtime }, headers: admin });
    running = await at.begin('hands');
    outer = [at.rest(), at.grpc()];
    inner = [at.internalRest(), at.internalGrpc()];
  });
  after(async () => {
    await at[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });

  const byTransport = (client: SealClient, http: number, grpc: string): number | string =>
    client.transport === 'REST' ? http : grpc;

  test('attestation needs the bearer of a caller of the tenant with the right to run', async () => {
    for (const client of outer) {
      const status = async (headers?: Headers) => {
        const answer = await client.attest(new IndependentAgent(running), {}, headers);
        assert.equal(answer.token === '', ![200, 'OK'].includes(answer.status));
        return answer.status;
      };
      assert.equal(await status(), byTransport(client, 401, 'UNAUTHENTICATED'));
      assert.equal(await status({ authorization: 'Bearer a.b.c' }), byTransport(client, 401, 'UNAUTHENTICATED'));
      assert.equal(await status(reader), byTransport(client, 403, 'PERMISSION_DENIED'));
      assert.equal(await status(stranger), byTransport(client, 404, 'NOT_FOUND'));
      assert.equal(await status({ ...stranger, 'x-tenant-id': 'alpha' }), byTransport(client, 404, 'NOT_FOUND'));
      assert.equal(await status(admin), byTransport(client, 200, 'OK'));
    }
  });

  test('a call needs it too; the bearer of another tenant reaches no session, and the audit chain names it', async () => {
    for (const client of outer) {
      const agent = await at.attested(running, client);
      const path = `/workspace/${agent.sessionId}`;
      const envelope = agent.call(1, 'fs.write', { path, content: 'x' });
      assert.equal((await client.invoke(envelope)).status, byTransport(client, 401, 'UNAUTHENTICATED'));
      assert.equal((await client.invoke(envelope, reader)).status, byTransport(client, 403, 'PERMISSION_DENIED'));
      const other = await client.invoke(envelope, stranger);
      assert.deepEqual(
        [other.status, other.reason],
        [byTransport(client, 403, 'PERMISSION_DENIED'), 'SessionInactive'],
      );
      assert.ok(![...(await at.files()).keys()].some((file) => file.endsWith(agent.sessionId)));
      const good = await client.invoke(envelope, admin);
      assert.equal(good.result?.isError, false, good.text);
      const chain = await waitUntil('the attempt is recorded', async () => {
        const { bodies } = await at.audit(agent.sessionId);
        return bodies.some(({ kind }) => kind === 'refused') ? bodies : null;
      });
      assert.equal(chain.find(({ kind }) => kind === 'refused')?.reason, 'bearer_of_another');
    }
  });

  test('the token of one tenant gives access to nothing of another', async () => {
    const [rest = assert.fail()] = outer;
    const theirs = await at.attested(await at.begin('hands', stranger), rest, stranger);
    const ours = await at.attested(running, rest);
    const before = await at.files();
    for (const client of [...outer, ...inner]) {
      const swapped = { ...ours.call(1, 'fs.write', { path: 'x', content: '' }), security_token: theirs.token };
      assert.equal(
        (await client.invoke(swapped, admin)).status,
        byTransport(client, 401, 'UNAUTHENTICATED'),
        client.name,
      );
    }
    for (const client of outer) {
      const { status, reason } = await client.invoke(theirs.call(1, 'fs.write', { path: 'x', content: '' }), admin);
      assert.deepEqual([status, reason], [byTransport(client, 403, 'PERMISSION_DENIED'), 'SessionInactive']);
    }
    assert.deepEqual(await at.files(), before);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/audit'],
      ['POST', '/revoke'],
    ] as const) {
      const answer = await at.node.json(
        method,
        `/v1/seal/sessions/${ours.sessionId}${path}`,
        method === 'GET' ? undefined : {},
        stranger,
      );
      assert.equal(answer.status, 404, path);
    }
  });

  test('the internal address needs no bearer: the envelope authenticates the call, and the capability token the attestation', async () => {
    const agent = await at.attested(running, outer[0] ?? assert.fail());
    for (const client of inner) {
      const { result, text } = await client.invoke(agent.call(client.name, 'svc.tools.list', {}));
      assert.equal(result?.isError, false, text);
    }
    const { is, url } = await at.beginProgram();
    const own = await at.attested(is, at.internalRest(url), {});
    const written = await at.internalRest().invoke(own.call(1, 'cmd.run', { command: 'sh', args: ['-c', 'echo hi'] }));
    assert.deepEqual(written.result?.structured, { stdout: 'hi\n', stderr: '', exit_code: 0 }, written.text);
    const headers = { authorization: `Bearer ${own.token}` };
    for (const base of [at.internalUrl, at.node.url]) {
      assert.equal((await fetch(`${base}/v1/seal/tools`, { headers })).status, 200, base);
    }
    assert.equal((await fetch(`${at.internalUrl}/v1/seal/sessions`)).status, 404);
  });

  test('a tenant without host commands runs none', async () => {
    const [rest = assert.fail()] = outer;
    const theirs = await at.attested(await at.begin('hands', stranger), rest, stranger);
    const { status, reason } = await rest.invoke(
      theirs.call(1, 'cmd.run', { command: 'sh', args: ['-c', 'id'] }),
      stranger,
    );
    assert.deepEqual([status, reason], [403, 'PERMISSION_DENIED']);
  });

  test('the limit of a user is 429 with Retry-After over REST, RESOURCE_EXHAUSTED with RetryInfo over gRPC', async () => {
    const user = await realms.headers('alphaUser');
    const is = await at.begin('hands', user, admin);
    const [rest = assert.fail()] = outer;
    const agent = await at.attested(is, rest, user);
    for (const client of outer) {
      // The limit is 30 a minute; the minute may end meanwhile, so a second round may be needed.
      let round = 0;
      const limited = await waitUntil('the limit of the user', async () => {
        round += 1;
        const ids = Array.from({ length: 31 }, (_call, index) => `${client.name} ${round} ${index}`);
        const answers = await Promise.all(ids.map((id) => client.invoke(agent.call(id, 'svc.tools.list', {}), user)));
        return answers.find(({ reason }) => reason === 'RateLimitExceeded');
      });
      assert.equal(limited.status, byTransport(client, 429, 'RESOURCE_EXHAUSTED'));
      assert.ok(limited.retryAfter && round <= 2, `${round} rounds`);
    }
  });
});
