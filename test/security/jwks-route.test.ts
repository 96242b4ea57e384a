import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { pino } from 'pino';
import { z } from 'zod';
import type { NodeTokens } from '../../security/api.ts';
import { createAuthenticator } from '../../security/authenticator.ts';
import { NODE_TOKEN_AUDIENCE, NODE_TOKEN_ISSUER } from '../../security/node-tokens.ts';
import { createRestServer } from '../../transport/rest/server.ts';
import { FakeCatalog } from '../transport/rest/fake-catalog.ts';
import { FakeExecutions } from '../transport/rest/fake-executions.ts';
import { fleet, nodePair } from './key-fleet.ts';

const pair = nodePair();
const node = { nodeId: 'node-1', role: 'WORKER', publicKeyPem: pair.publicKeyPem } as const;

const Operation = z.object({
  get: z.object({ security: z.array(z.unknown()).optional(), responses: z.record(z.string(), z.unknown()) }).optional(),
});
const Description = z.object({ paths: z.record(z.string(), Operation) });

/** A REST server that requires a token of an identity provider which does not exist. */
async function serve(nodeTokens?: NodeTokens) {
  const app = createRestServer({
    agents: new FakeCatalog(),
    executions: new FakeExecutions(),
    authenticator: createAuthenticator({
      realms: [
        {
          slug: 'svc-system',
          kind: 'system',
          issuerUrl: 'https://idp.example',
          jwksUri: 'http://127.0.0.1:1/',
          audience: 'svc-api',
        },
      ],
    }),
    logger: pino({ level: 'silent' }),
    version: '0.0.1-test',
    health: { ready: async () => ({ ready: true }) },
    ...(nodeTokens === undefined ? {} : { nodeTokens }),
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return { base, jwksUri: `${base}/.well-known/jwks.json`, [Symbol.asyncDispose]: () => app.close() };
}

describe('GET /.well-known/jwks.json', () => {
  it('shows the public keys of all controllers to every caller, for a minute', async () => {
    await using at = await fleet();
    const [one, two] = [at.controller(), at.controller()];
    await one.tokens.issue(node);
    await two.tokens.issue(node);
    await using rest = await serve(one.tokens);
    const response = await fetch(rest.jwksUri);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('cache-control'), 'public, max-age=60');
    const { keys } = z.object({ keys: z.array(z.record(z.string(), z.string())) }).parse(await response.json());
    assert.equal(keys.length, 2);
    for (const key of keys) assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
    assert.equal((await fetch(rest.jwksUri, { method: 'POST' })).status, 405);
  });

  it('lets another implementation verify a token without anything else', async () => {
    await using at = await fleet();
    const { tokens } = at.controller();
    const { token } = await tokens.issue(node);
    await using rest = await serve(tokens);
    const expected = { issuer: NODE_TOKEN_ISSUER, audience: NODE_TOKEN_AUDIENCE, algorithms: ['RS256'] };
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(rest.jwksUri)), expected);
    assert.equal(payload.sub, 'node-1');
  });

  it('is in the API description of a node that has node tokens', async () => {
    await using at = await fleet();
    await using rest = await serve(at.controller().tokens);
    const description = Description.parse(await (await fetch(`${rest.base}/v1/openapi.json`)).json());
    const operation = description.paths['/.well-known/jwks.json']?.get;
    assert.ok(operation !== undefined);
    assert.deepEqual(operation.security, []);
    assert.deepEqual(Object.keys(operation.responses), ['200', '400', '408', '431', '500', '503']);
  });

  it('does not exist on a node without node tokens', async () => {
    await using rest = await serve();
    assert.equal((await fetch(rest.jwksUri)).status, 404);
  });

  it('is unavailable while the keys cannot be read', async () => {
    await using at = await fleet();
    const one = at.controller();
    one.documents.isDown = true;
    await using rest = await serve(one.tokens);
    assert.equal((await fetch(rest.jwksUri)).status, 503);
  });
});
