import { z } from 'zod';
import type { SearchResult } from './api.ts';

export type SearchProviderName = 'searxng' | 'brave' | 'tavily';

export interface SearchQuery {
  readonly text: string;
  readonly max_results: number;
}

/** How one provider is asked and how its answer reads. Pure. */
export interface SearchProvider {
  /** Null: the operator names it. */
  readonly endpoint: string | null;
  request(endpoint: string, query: SearchQuery, key: string | null): SearchCall;
  /** Throws a ZodError for an answer of another shape. */
  read(answer: unknown): readonly SearchResult[];
}

export interface SearchCall {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');
const hit = { title: text, url: z.string() };

const Searxng = z.object({ results: z.array(z.object({ ...hit, content: text })).default([]) });
const Brave = z.object({
  web: z.object({ results: z.array(z.object({ ...hit, description: text })).default([]) }).nullish(),
});
const Tavily = Searxng;

const result = (title: string, url: string, snippet: string): SearchResult => ({ title, url, snippet });

/** `path` behind the endpoint, whether or not that ends with a slash. */
function at(endpoint: string, path: string, parameters: Readonly<Record<string, string>> = {}): string {
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

const bearer = (key: string | null): Record<string, string> => (key === null ? {} : { authorization: `Bearer ${key}` });

export const SEARCH_PROVIDERS: Readonly<Record<SearchProviderName, SearchProvider>> = {
  // https://docs.searxng.org/dev/search_api.html; the instance must allow the format json.
  searxng: {
    endpoint: null,
    request: (endpoint, query, key) => ({
      url: at(endpoint, '/search', { q: query.text, format: 'json' }),
      ...{ method: 'GET', headers: bearer(key) },
    }),
    read: (answer) => Searxng.parse(answer).results.map(({ title, url, content }) => result(title, url, content)),
  },
  // https://api-dashboard.search.brave.com/app/documentation/web-search
  brave: {
    endpoint: 'https://api.search.brave.com',
    request: (endpoint, query, key) => ({
      url: at(endpoint, '/res/v1/web/search', { q: query.text, count: String(query.max_results) }),
      ...{ method: 'GET', headers: { 'x-subscription-token': key ?? '' } },
    }),
    read: (answer) =>
      (Brave.parse(answer).web?.results ?? []).map(({ title, url, description }) => result(title, url, description)),
  },
  // https://docs.tavily.com/documentation/api-reference/endpoint/search
  tavily: {
    endpoint: 'https://api.tavily.com',
    request: (endpoint, query, key) => ({
      url: at(endpoint, '/search'),
      ...{ method: 'POST', headers: { ...bearer(key), 'content-type': 'application/json' } },
      body: JSON.stringify({ query: query.text, max_results: query.max_results }),
    }),
    read: (answer) => Tavily.parse(answer).results.map(({ title, url, content }) => result(title, url, content)),
  },
};
