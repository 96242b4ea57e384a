import { useSyncExternalStore } from 'react';
import type { Me } from '../../clients/typescript/gen/operations.ts';
import { fetchNoting } from './node-answers.ts';
import { finishSignIn, type Oidc, renew, type Tokens } from './oidc.ts';

/** The answer of the node to a call without a token. */
interface DashboardConfig {
  readonly sign_in: 'oidc' | 'token' | 'none';
  readonly oidc: Oidc | null;
  readonly role_claim: string;
  readonly version: string;
  /** Set when the node shows this recorded run, read-only. */
  readonly recording: Recorded | null;
}

interface Recorded {
  readonly svc: string;
  readonly recorded_at: string | null;
  readonly run: { readonly kind: string; readonly id: string } | null;
}

/** Actions of the API that pages show only to callers with the permission; the API checks it in any case. */
export type Action = Me['actions'][number];

/** Areas of the API, by which keys are limited. */
export type Area =
  | 'agents'
  | 'approvals'
  | 'audit'
  | 'cluster'
  | 'executions'
  | 'keys'
  | 'limits'
  | 'patterns'
  | 'secrets'
  | 'stimuli'
  | 'tools'
  | 'volumes'
  | 'workflows';

interface Session {
  readonly config: DashboardConfig;
  /** Null until signed in; kept in memory only. */
  readonly tokens: Tokens | null;
  /** Number of the sign-in, so that data read for a previous user is not shown. */
  readonly signIn: number;
  /** The node's answer about the caller; null until it has answered. */
  readonly me: Me | null;
  /** Why signing in failed, or why the token is no longer valid. */
  readonly problem: string | null;
}

let session: Session = {
  config: { sign_in: 'none', oidc: null, role_claim: 'svc_role', version: '', recording: null },
  tokens: null,
  signIn: 0,
  me: null,
  problem: null,
};
const listeners = new Set<() => void>();

function change(next: Partial<Session>): void {
  session = { ...session, ...next };
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useSession = (): Session => useSyncExternalStore(subscribe, () => session);

/**
 * The token in the address that `dashboard.html` in the node's data directory opens; null without one. It is removed from the
 * address at once.
 */
function takeHandedToken(): string | null {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1] ?? null;
  if (token !== null) history.replaceState(null, '', location.pathname + location.search);
  return token;
}

const CONFIG_TIMEOUT_MS = 10_000;
const CONFIG_RETRY_MS = 1_000;

/** Reads the configuration, which every page needs: a node that does not answer is asked again, and `onRetry` is called. */
async function readConfig(onRetry: () => void): Promise<Response> {
  for (;;) {
    try {
      return await fetchNoting('/dashboard/config.json', { signal: AbortSignal.timeout(CONFIG_TIMEOUT_MS) });
    } catch {
      onRetry();
      await new Promise((resolve) => setTimeout(resolve, CONFIG_RETRY_MS));
    }
  }
}

/**
 * Reads the configuration, and completes a sign-in when the identity provider has redirected the browser back. `onRetry` is
 * called each time that the node did not answer.
 */
export async function startSession(onRetry: () => void): Promise<void> {
  const handed = takeHandedToken();
  const response = await readConfig(onRetry);
  if (!response.ok) return change({ problem: `The node answered ${response.status}. Load the page again.` });
  const config: DashboardConfig = await response.json();
  change({ config });
  if (config.sign_in === 'token' && handed !== null) return signInWith(handed);
  if (config.oidc === null) return;
  try {
    const tokens = await finishSignIn(config.oidc);
    if (tokens !== null) change({ tokens, signIn: session.signIn + 1, me: null });
  } catch (error) {
    change({ problem: `Signing in failed: ${error instanceof Error ? error.message : String(error)}` });
  }
}

/** Aborts when the user signs out. */
let signedIn = new AbortController();

const signedOut = (): Error => new Error('You have signed out.');

/** The user pasted a token: the node's local token, an API key, or one of an identity provider. */
export function signInWith(token: string): void {
  signedIn = new AbortController();
  change({
    tokens: { access: token, refresh: null, expiresAt: Number.POSITIVE_INFINITY },
    signIn: session.signIn + 1,
    me: null,
    problem: null,
  });
}

/** Aborts the running calls: a follow-up of such a call must not be sent without a token, or as the next user. */
export function signOut(problem: string | null = null): void {
  signedIn.abort(signedOut());
  change({ tokens: null, me: null, problem });
}

/** `fetch` until the user signs out. */
export const fetchSignedIn: typeof fetch = (input, init) => {
  const signals = [signedIn.signal, init?.signal].filter((signal) => signal instanceof AbortSignal);
  return fetchNoting(input, { ...init, signal: AbortSignal.any(signals) });
};

export const setMe = (me: Me): void => change({ me });

/**
 * The bearer token for the next call, renewed shortly before it expires; undefined where none is needed. Throws when the
 * node needs one and the user has signed out.
 */
export async function bearer(): Promise<string | undefined> {
  const { tokens, config } = session;
  if (needsSignIn(session)) throw signedOut();
  if (tokens === null) return undefined;
  if (config.oidc === null || tokens.refresh === null || Date.now() < tokens.expiresAt - 30_000) return tokens.access;
  renewing ??= renew(config.oidc, tokens.refresh).finally(() => {
    renewing = null;
  });
  const renewed = await renewing.catch((error: unknown) => {
    // An unreachable provider may answer the next call; a refusal ends the sign-in.
    if (!(error instanceof TypeError)) signOut('Your sign-in has ended. Sign in again.');
    throw error;
  });
  // Renewed tokens must not sign in a user who has signed out meanwhile.
  if (session.tokens === null) throw signedOut();
  change({ tokens: renewed });
  return renewed.access;
}

let renewing: Promise<Tokens> | null = null;

export const needsSignIn = ({ config, tokens }: Session): boolean => config.sign_in !== 'none' && tokens === null;

/** Claims of a JSON Web Token without checking it: the node checks. Null for opaque tokens. */
function claimsOf(token: string): Readonly<Record<string, unknown>> | null {
  const part = token.split('.')[1];
  if (part === undefined) return null;
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // An API key or another opaque token.
    return null;
  }
}

/** Who is signed in, for the page. */
export function whoIs({ config, tokens, me }: Session): string {
  if (config.recording !== null) return 'recording';
  if (tokens === null) return 'local operator';
  const claims = claimsOf(tokens.access);
  const named = [claims?.preferred_username, claims?.name, claims?.email, me?.subject, claims?.sub];
  return named.find((one) => typeof one === 'string') ?? 'user';
}

/** Whether to offer an action in an area. False until the node has said what the caller may do. */
export function useMay(): (action: Action, area?: Area) => boolean {
  const { me, config } = useSession();
  return (action, area = 'executions') => {
    // A recording has no tool sessions.
    if (config.recording !== null) return action === 'read' && area !== 'tools';
    if (me === null || !me.actions.includes(action)) return false;
    const looks = action === 'read' || action === 'audit' || action === 'inspect';
    const acts = area === 'tools' ? 'call' : 'write';
    return me.scopes.includes(`${area}:${looks ? 'read' : acts}`);
  };
}
