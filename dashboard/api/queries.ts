import { QueryCache, QueryClient } from '@tanstack/react-query';
import { createClient, SvcApiError } from '../../clients/typescript/client.ts';
import { bearer, signOut } from '../app/session.ts';

/** The API of the node that served the page. */
export const api = createClient({ baseUrl: location.origin, token: bearer });

/** A refusal says the same again; anything else may be a node that restarts. */
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
    },
  },
});

/** How often lists are read again while the page is seen, ms. */
export const LIST_REFRESH_MS = 2_000;

/** The text of a failure for people. */
export function failureText(error: unknown): string {
  if (error instanceof SvcApiError) return error.message;
  if (error instanceof TypeError) return 'The node does not answer.';
  return error instanceof Error ? error.message : String(error);
}
