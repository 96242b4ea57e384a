import * as oauth from 'oauth4webapi';

/** The dashboard as a public client of an identity provider. */
export interface Oidc {
  readonly issuer: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
}

export interface Tokens {
  readonly access: string;
  readonly refresh: string | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** What is stored while the browser visits the identity provider. No token is ever stored. */
interface Attempt {
  readonly verifier: string;
  readonly state: string;
  readonly nonce: string;
  /** The page to go back to. */
  readonly from: string;
}

const KEY = 'svc-sign-in';

const redirectUri = (): string => `${location.origin}/`;

const isLoopback = (url: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);

/** Plain http is for an identity provider on this machine. */
const options = (issuer: URL) => ({ [oauth.allowInsecureRequests]: issuer.protocol === 'http:' && isLoopback(issuer) });

async function serverOf({ issuer }: Oidc): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer);
  return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, options(url)));
}

/** Leaves the page for the identity provider, to come back with a code (PKCE, S256). */
export async function beginSignIn(oidc: Oidc): Promise<void> {
  const server = await serverOf(oidc);
  if (server.authorization_endpoint === undefined)
    throw new Error('the identity provider names no authorization endpoint');
  const attempt: Attempt = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    from: location.pathname + location.search,
  };
  sessionStorage.setItem(KEY, JSON.stringify(attempt));
  const url = new URL(server.authorization_endpoint);
  url.searchParams.set('response_type', 'code');
  url.searchParams.set('client_id', oidc.client_id);
  url.searchParams.set('redirect_uri', redirectUri());
  url.searchParams.set('scope', oidc.scopes.join(' '));
  url.searchParams.set('state', attempt.state);
  url.searchParams.set('nonce', attempt.nonce);
  url.searchParams.set('code_challenge', await oauth.calculatePKCECodeChallenge(attempt.verifier));
  url.searchParams.set('code_challenge_method', 'S256');
  location.assign(url);
}

/** Exchanges the code in the address for tokens; null when there is none. The previous address is restored. */
export async function finishSignIn(oidc: Oidc): Promise<Tokens | null> {
  const here = new URL(location.href);
  const kept = sessionStorage.getItem(KEY);
  if (kept === null || !(here.searchParams.has('code') || here.searchParams.has('error'))) return null;
  sessionStorage.removeItem(KEY);
  const attempt: Attempt = JSON.parse(kept);
  history.replaceState(null, '', attempt.from);
  const server = await serverOf(oidc);
  const client = { client_id: oidc.client_id };
  const checked = oauth.validateAuthResponse(server, client, here, attempt.state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    checked,
    redirectUri(),
    attempt.verifier,
    options(new URL(oidc.issuer)),
  );
  const asksForId = oidc.scopes.includes('openid');
  return tokensOf(
    await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: asksForId ? attempt.nonce : oauth.expectNoNonce,
      requireIdToken: asksForId,
    }),
  );
}

/** New tokens for a refresh token. */
export async function renew(oidc: Oidc, refresh: string): Promise<Tokens> {
  const server = await serverOf(oidc);
  const client = { client_id: oidc.client_id };
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    oauth.None(),
    refresh,
    options(new URL(oidc.issuer)),
  );
  const tokens = tokensOf(await oauth.processRefreshTokenResponse(server, client, response));
  return tokens.refresh === null ? { ...tokens, refresh } : tokens;
}

const tokensOf = ({ access_token, refresh_token, expires_in }: oauth.TokenEndpointResponse): Tokens => ({
  access: access_token,
  refresh: refresh_token ?? null,
  expiresAt: expires_in === undefined ? Number.POSITIVE_INFINITY : Date.now() + expires_in * 1_000,
});
