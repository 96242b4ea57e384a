import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { refused } from '../../support/refused.ts';
import { HOUR_MS, jwt, MINUTE_MS, newestPrivateKey } from '../key-fleet.ts';
import { attestedAgent, SETTINGS } from './attested-agent.ts';

let at: Awaited<ReturnType<typeof attestedAgent>>;
before(async () => {
  at = await attestedAgent();
});
after(() => at[Symbol.asyncDispose]());

test('a token names its execution, its session, its key and its expiry', async () => {
  const given = at.claims({ expiresAt: at.clock.now() + 10 * MINUTE_MS });
  const token = await at.agentTokens.issue(given);
  const claims = decodeJwt(token);
  assert.deepEqual(
    Object.keys(claims).sort(),
    'aud cnf exec_id exp iat iss jti scp security_context sub tenant_id wid'.split(' '),
  );
  assert.deepEqual([claims.iss, claims.aud, claims.scp], ['svc-orchestrator', 'svc-agents', claims.security_context]);
  const { publicKey, expiresAt, ...read } = await at.agentTokens.verify(token);
  const { publicKey: key, expiresAt: end, ...expected } = given;
  assert.deepEqual(read, expected);
  assert.ok(publicKey.equals(key));
  assert.equal(expiresAt, Math.floor(end / 1_000) * 1_000, 'to the second before the execution ends');
});

test('no token lives longer than its setting, nor than the keys are kept', async () => {
  const life = async (settings: typeof SETTINGS) => {
    await using other = await attestedAgent(settings);
    const token = await other.agentTokens.issue(other.claims({ expiresAt: other.clock.now() + 48 * HOUR_MS }));
    const { iat = 0, exp = 0 } = decodeJwt(token);
    return exp - iat;
  };
  assert.equal(await life({ ...SETTINGS, token_ttl_seconds: 60 }), 60);
  assert.equal(await life({ ...SETTINGS, token_ttl_seconds: 86_400 }), 3_600);
});

test('tokens of one kind are refused as those of every other, whatever the settings', async () => {
  await using other = await attestedAgent({
    issuer: 'svc-controller',
    audiences: ['svc-cluster', 'svc-dispatch'],
    token_ttl_seconds: 60,
  });
  const { agentTokens, executionTokens, nodeTokens, auditSigner } = other;
  const agent = await agentTokens.issue(other.claims());
  const execution = await executionTokens.issue({
    tenant: 'acme',
    executionId: 'e-1',
    expiresAt: other.clock.now() + 60_000,
  });
  const { token: node } = await nodeTokens.issue({
    nodeId: 'n',
    role: 'WORKER',
    publicKeyPem: other.pair.publicKeyPem,
  });
  const head = await auditSigner.sign({ session_id: 's', tenant: 'acme', sequence: 1, hash: 'a'.repeat(64) });
  for (const [name, tokens, own] of [
    ['agent', agentTokens, agent],
    ['execution', executionTokens, execution],
    ['node', nodeTokens, node],
  ] as const) {
    await tokens.verify(own);
    for (const foreign of [agent, execution, node, head].filter((token) => token !== own))
      await assert.rejects(tokens.verify(foreign), refused('unauthenticated', /not valid/), name);
  }
});

test('an execution token gives access to the gateway for that execution and tenant alone', async () => {
  const token = await at.executionTokens.issue({
    tenant: 'acme',
    executionId: 'e-1',
    expiresAt: at.clock.now() + HOUR_MS,
  });
  assert.deepEqual(await at.executionTokens.verify(token), { tenant: 'acme', executionId: 'e-1' });
});

test('a token without one of its claims, or with two contexts, is refused', async () => {
  const key = await newestPrivateKey(at.keysDirectory);
  const header = decodeProtectedHeader(at.token);
  const good = decodeJwt(at.token);
  await at.agentTokens.verify(jwt(header, good, key));
  for (const name of Object.keys(good)) {
    const token = jwt(header, { ...good, [name]: undefined }, key);
    await assert.rejects(at.agentTokens.verify(token), refused('unauthenticated', /not valid/), name);
  }
  const others = {
    scp: 'svc-system-operator',
    aud: 'x',
    iss: 'x',
    cnf: { jwk: { kty: 'RSA' } },
    exp: Number(good.iat) + 99_999,
  };
  for (const [name, value] of Object.entries(others))
    await assert.rejects(
      at.agentTokens.verify(jwt(header, { ...good, [name]: value }, key)),
      refused('unauthenticated'),
      name,
    );
  for (const typ of ['JWT', undefined, 'dispatch+jwt'])
    await assert.rejects(
      at.agentTokens.verify(jwt({ ...header, typ }, good, key)),
      refused('unauthenticated'),
      String(typ),
    );
});

test('an expired token has its own error only when it was valid before', async () => {
  await using other = await attestedAgent();
  const token = await other.agentTokens.issue(other.claims({ expiresAt: other.clock.now() + 1_000 }));
  other.clock.advance(MINUTE_MS);
  await assert.rejects(other.agentTokens.verify(token), refused('unauthenticated', /has expired/));
  await assert.rejects(
    other.agentTokens.verify(`${token.slice(0, -8)}AAAAAAAA`),
    refused('unauthenticated', /not valid/),
  );
});
