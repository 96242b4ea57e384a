import { type Agent, request } from 'undici';
import { ZodError, z } from 'zod';
import { outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import type { Clock } from '../../runtime/clock.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { backoffMs, jittered, sleep } from '../../runtime/kit/waits.ts';
import type { Random } from '../../runtime/random.ts';
import type { SearchResult } from '../../usecases/ports/web.ts';
import { readBody } from './body.ts';

interface SearchParts {
  readonly provider: SearchProviderName;
  readonly endpoint?: string | undefined;
  /** Resolved for each search and not cached. */
  readonly key: () => Promise<string | null>;
  readonly agent: Agent;
  readonly clock: Clock;
  readonly random: Random;
  readonly userAgent: string;
}

const MAX_RESULTS = 20;

const MAX_ATTEMPTS = 3;

const FIRST_BACKOFF_MS = 250;

const MAX_BACKOFF_MS = 1_000;

const ATTEMPT_TIMEOUT_MS = 10_000;

const MAX_ANSWER_BYTES = 4 * 1_024 * 1_024;

const MAX_QUERY_CHARS = 1_000;

const MAX_SNIPPET_CHARS = 2_000;

/**
 * Calls the provider, up to three times (W43). Throws `invalid_argument`, `failed_precondition` for an error that a retry
 * cannot solve, `unavailable`. No error contains the key or the provider's answer.
 */
export async function searchWeb(
  parts: SearchParts,
  asked: SearchQuery,
  signal: AbortSignal,
): Promise<readonly SearchResult[]> {
  const query = checkedQuery(asked);
  const provider = SEARCH_PROVIDERS[parts.provider];
  const endpoint = parts.endpoint ?? provider.endpoint;
  if (endpoint === null) throw misconfigured('spec.web.search.endpoint is not set');
  const call = provider.request(endpoint, query, await parts.key());
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      const found = provider.read(JSON.parse(await send(parts, call, signal)));
      return found.slice(0, query.max_results).map(bounded);
    } catch (thrown) {
      signal.throwIfAborted();
      const failure = failureOf(thrown, parts.provider);
      if (failure.row.kind !== 'retry' || attempt === MAX_ATTEMPTS) throw failure;
    }
    await sleep(parts.clock, jittered(backoffMs(attempt - 1, FIRST_BACKOFF_MS, MAX_BACKOFF_MS), parts.random), signal);
  }
}

function checkedQuery({ text, max_results }: SearchQuery): SearchQuery {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > MAX_QUERY_CHARS) {
    const expected = `query: expected 1 to ${MAX_QUERY_CHARS} characters`;
    throw new SvcError('invalid_argument', expected, { field: 'query' });
  }
  if (!Number.isInteger(max_results) || max_results < 1) {
    throw invalidField('max_results', 'expected a whole number of at least 1');
  }
  return { text: trimmed, max_results: Math.min(max_results, MAX_RESULTS) };
}

async function send({ agent, userAgent }: SearchParts, call: SearchCall, signal: AbortSignal): Promise<string> {
  const { statusCode, headers, body } = await request(call.url, {
    dispatcher: agent,
    method: call.method,
    headers: { ...call.headers, 'user-agent': userAgent, ...outgoingTrace() },
    signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]),
    body: call.body ?? null,
  });
  body.on('error', () => {});
  if (statusCode !== 200) {
    body.destroy();
    throw new ProviderStatus(statusCode);
  }
  const read = await readBody(body, String(headers['content-encoding'] ?? ''), MAX_ANSWER_BYTES);
  if (read.truncated) throw new SvcError('failed_precondition', `the search answer is over ${MAX_ANSWER_BYTES} bytes`);
  return read.bytes.toString('utf8');
}

class ProviderStatus extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`HTTP status ${status}`);
    this.status = status;
  }
}

/** Omits causes, which could contain the request and with it the key. */
function failureOf(thrown: unknown, provider: string): SvcError {
  if (thrown instanceof SvcError) return thrown;
  if (thrown instanceof SyntaxError || thrown instanceof ZodError) {
    return new SvcError('failed_precondition', `web.search: ${provider} did not answer with search results`);
  }
  if (thrown instanceof ProviderStatus) {
    const { status } = thrown;
    if (status === 429 || status >= 500) {
      return new SvcError('unavailable', `web.search: ${provider} answered with HTTP status ${status}`);
    }
    const key = status === 401 || status === 403 ? '; check spec.web.search.api_key' : '; check spec.web.search';
    return misconfigured(`${provider} answered with HTTP status ${status}${key}`);
  }
  const code = systemCode(thrown, 'no answer');
  return new SvcError('unavailable', `web.search: ${provider} could not be reached (${code})`);
}

export const misconfigured = (what: string): SvcError => new SvcError('failed_precondition', `web.search: ${what}`);

const bounded = ({ title, url, snippet }: SearchResult): SearchResult => ({
  title: title.slice(0, MAX_SNIPPET_CHARS),
  url: url.slice(0, 8_192),
  snippet: snippet.slice(0, MAX_SNIPPET_CHARS),
});

type SearchProviderName = 'searxng' | 'brave' | 'tavily';

interface SearchQuery {
  readonly text: string;
  readonly max_results: number;
}

/** Request and answer format of one provider. Pure. */
interface SearchProvider {
  /** Null: the operator must set one. */
  readonly endpoint: string | null;
  request(endpoint: string, query: SearchQuery, key: string | null): SearchCall;
  /** Throws a ZodError for another format. */
  read(answer: unknown): readonly SearchResult[];
}

interface SearchCall {
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

/** Answer format of SearXNG and Tavily. */
const ContentResults = z.object({ results: z.array(z.object({ ...hit, content: text })).default([]) });

const Brave = z.object({
  web: z.object({ results: z.array(z.object({ ...hit, description: text })).default([]) }).nullish(),
});

const contentResults = (answer: unknown): readonly SearchResult[] =>
  ContentResults.parse(answer).results.map(({ title, url, content }) => ({ title, url, snippet: content }));

/** Appends `path` to the endpoint, with or without a slash at its end. */
function at(endpoint: string, path: string, parameters: Readonly<Record<string, string>> = {}): string {
  const url = new URL(endpoint);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

const bearer = (key: string | null): Record<string, string> => (key === null ? {} : { authorization: `Bearer ${key}` });

const SEARCH_PROVIDERS: Readonly<Record<SearchProviderName, SearchProvider>> = {
  // https://docs.searxng.org/dev/search_api.html; the instance must allow the format json.
  searxng: {
    endpoint: null,
    request: (endpoint, query, key) => ({
      url: at(endpoint, '/search', { q: query.text, format: 'json' }),
      method: 'GET',
      headers: bearer(key),
    }),
    read: contentResults,
  },
  // https://api-dashboard.search.brave.com/app/documentation/web-search
  brave: {
    endpoint: 'https://api.search.brave.com',
    request: (endpoint, query, key) => ({
      url: at(endpoint, '/res/v1/web/search', { q: query.text, count: String(query.max_results) }),
      method: 'GET',
      headers: { 'x-subscription-token': key ?? '' },
    }),
    read: (answer) =>
      (Brave.parse(answer).web?.results ?? []).map(({ title, url, description }) => ({
        title,
        url,
        snippet: description,
      })),
  },
  // https://docs.tavily.com/documentation/api-reference/endpoint/search
  tavily: {
    endpoint: 'https://api.tavily.com',
    request: (endpoint, query, key) => ({
      url: at(endpoint, '/search'),
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify({ query: query.text, max_results: query.max_results }),
    }),
    read: contentResults,
  },
};
