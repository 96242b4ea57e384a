/**
 * A small OpenID Connect provider on loopback, as a separate process: discovery, a page to log in, code flow with PKCE (S256),
 * ID tokens and access tokens as JSON Web Tokens. Each realm is an issuer, and each user has a role. It prints its address.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { sign, signingKey } from '../security/identity-provider.ts';

const CLIENT = 'svc-dashboard';
const AUDIENCE = 'svc-api';
const LIFETIME_S = 300;

/** Users by realm, with the role in their tokens. */
const USERS: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  'svc-system': { olga: 'svc:operator', rita: 'svc:readonly', robot: 'svc:operator' },
  beta: { bea: undefined },
};

interface Grant {
  readonly realm: string;
  readonly user: string;
  readonly challenge: string;
  readonly nonce: string;
  readonly redirectUri: string;
}

const key = await signingKey('oidc');
const codes = new Map<string, Grant>();
let origin = '';

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    response.writeHead(500).end(String(error));
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', origin);
  const [, realm = '', ...rest] = /^\/realms\/([a-z-]+)\/(.*)$/.exec(url.pathname) ?? [];
  if (USERS[realm] === undefined) return send(response, 404, { error: 'no such realm' });
  switch (rest.join('/')) {
    case '.well-known/openid-configuration':
      return send(response, 200, metadata(realm));
    case 'keys':
      return send(response, 200, { keys: [key.publicJwk] });
    case 'authorize':
      return authorize(realm, url, response);
    case 'token':
      return token(realm, new URLSearchParams(await textOf(request)), response);
    default:
      return send(response, 404, { error: 'no such path' });
  }
}

const issuer = (realm: string): string => `${origin}/realms/${realm}`;

const metadata = (realm: string) => ({
  issuer: issuer(realm),
  authorization_endpoint: `${issuer(realm)}/authorize`,
  token_endpoint: `${issuer(realm)}/token`,
  jwks_uri: `${issuer(realm)}/keys`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  id_token_signing_alg_values_supported: ['ES256'],
});

/** Without `user` a page to choose one; with it back to the client with a code. */
function authorize(realm: string, url: URL, response: ServerResponse): void {
  const { searchParams: asked } = url;
  const redirectUri = asked.get('redirect_uri') ?? '';
  const isRight =
    asked.get('client_id') === CLIENT &&
    asked.get('response_type') === 'code' &&
    asked.get('code_challenge_method') === 'S256' &&
    redirectUri.startsWith('http://127.0.0.1:');
  if (!isRight) {
    send(response, 400, { error: 'invalid_request' });
    return;
  }
  const user = asked.get('user');
  if (user === null) {
    const links = Object.keys(USERS[realm] ?? {}).map((name) => {
      const next = new URL(url);
      next.searchParams.set('user', name);
      return `<p><a href="${next.href.replaceAll('&', '&amp;')}">${name}</a></p>`;
    });
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(`<!doctype html><title>Log in</title><link rel="icon" href="data:,">${links.join('')}`);
    return;
  }
  const code = randomUUID();
  const [challenge, nonce] = [asked.get('code_challenge') ?? '', asked.get('nonce') ?? ''];
  codes.set(code, { realm, user, challenge, nonce, redirectUri });
  const back = new URL(redirectUri);
  back.searchParams.set('code', code);
  back.searchParams.set('state', asked.get('state') ?? '');
  response.writeHead(302, { location: back.href }).end();
}

/** A code counts once, for the verifier whose hash came with it. */
async function token(realm: string, form: URLSearchParams, response: ServerResponse): Promise<void> {
  const code = form.get('code') ?? '';
  const grant = codes.get(code);
  codes.delete(code);
  const proof = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  const isRight =
    grant !== undefined &&
    grant.realm === realm &&
    grant.challenge === proof &&
    grant.redirectUri === form.get('redirect_uri') &&
    form.get('client_id') === CLIENT;
  if (!isRight) return send(response, 400, { error: 'invalid_grant' });
  const now = Math.floor(Date.now() / 1_000);
  const common = { iss: issuer(realm), sub: grant.user, iat: now, exp: now + LIFETIME_S };
  return send(response, 200, {
    access_token: await sign(key, {
      ...common,
      aud: AUDIENCE,
      preferred_username: grant.user,
      svc_role: USERS[realm]?.[grant.user],
      client: grant.user,
    }),
    id_token: await sign(key, { ...common, aud: CLIENT, nonce: grant.nonce }),
    token_type: 'Bearer',
    expires_in: LIFETIME_S,
  });
}

function send(response: ServerResponse, status: number, body: object): void {
  const headers = {
    'content-type': 'application/json',
    'access-control-allow-origin': '*',
    'cache-control': 'no-store',
  };
  response.writeHead(status, headers).end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text;
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  origin = `http://127.0.0.1:${address.port}`;
  console.log(origin);
});
