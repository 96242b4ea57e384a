import { QueryCache, QueryClient } from '@tanstack/react-query';
import { createClient, SvcApiError } from '../../clients/typescript/client.ts';
import { bearer, fetchSignedIn, signOut } from '../app/session.ts';

/** Tenant in which a service account acts, from the address of the page; undefined: its own. Ignored for other callers. */
export const actingTenant = (): string | undefined => new URLSearchParams(location.search).get('tenant') || undefined;

const inTenant: typeof fetchSignedIn = (input, init) => {
  const tenant = actingTenant();
  if (tenant === undefined) return fetchSignedIn(input, init);
  const headers = new Headers(init?.headers);
  headers.set('x-tenant-id', tenant);
  return fetchSignedIn(input, { ...init, headers });
};

/** The API of the node that served the page. */
export const api = createClient({ baseUrl: location.origin, token: bearer, fetch: inTenant });

/** Whether to try again: a refusal would repeat, any other failure may come from a node that restarts. */
const isRefusal = (error: unknown): boolean =>
  error instanceof SvcApiError && error.status < 500 && error.status !== 429;

export const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (error instanceof SvcApiError && error.status === 401)
        signOut('The token is not valid, or expired. Sign in again.');
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      retry: (failures, error) => failures < 3 && !isRefusal(error),
      refetchOnWindowFocus: true,
      // A browser that is offline still reaches a node on its own machine, and a failed call says more than a paused one.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

/** How often lists are read again while the page is visible: less often while the feed reports changes. */
const LIVE_REFRESH_MS = 15_000;
const LIST_REFRESH_MS = 2_000;

let isLive = false;

/** Whether the feed is connected. */
export function setLive(live: boolean): void {
  isLive = live;
}

export const listRefreshMs = (): number => (isLive ? LIVE_REFRESH_MS : LIST_REFRESH_MS);

/** The text of a failure for people. */
export function failureText(error: unknown): string {
  if (error instanceof SvcApiError) return error.message;
  if (error instanceof TypeError) return 'The node does not answer.';
  return error instanceof Error ? error.message : String(error);
}
