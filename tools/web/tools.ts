import { z } from 'zod';
import type { ToolScope } from '../../manifests/tool/scope.ts';
import { SvcError } from '../../runtime/errors.ts';
import { counted } from '../../runtime/kit/counted.ts';
import type { Web, WebRules } from '../../usecases/ports/web.ts';
import { defineContract, reading, toolArguments } from '../contract/arguments.ts';
import { defineTool, type Tool, ToolFailure } from '../tool.ts';

export interface WebPorts {
  readonly web: Web;
  /** Why the scope may not reach a host, null when it may (security/policy). Checked again for each redirect. */
  domainProblem(scope: ToolScope, tool: string, domain: string): string | null;
}

export const MAX_PAGE_BYTES = 5 * 1024 * 1024;

/** The hosts that `web.fetch` may reach under a scope. */
export const webRules = ({ domainProblem }: Pick<WebPorts, 'domainProblem'>, scope: ToolScope): WebRules => ({
  checkDomain(domain) {
    const problem = domainProblem(scope, webFetch.name, domain);
    if (problem !== null) throw new SvcError('forbidden', problem);
  },
});

/** web.search and web.fetch. A network error is a result, so the model can continue without the page. */
export function webTools(ports: WebPorts): Tool[] {
  const { web, domainProblem } = ports;
  // The operator chooses the provider; the agent sees only results from hosts that it may fetch from.
  const mayShow = (scope: ToolScope, url: string): boolean => {
    const host = URL.parse(url)?.hostname;
    return host !== undefined && domainProblem(scope, webSearch.name, host) === null;
  };
  return [
    defineTool(webSearch, async ({ query, max_results }, { signal, run }) => {
      const found = await withWeb('SearchFailed', signal, () => web.search({ text: query, max_results }, signal));
      const shown = found.filter(({ url }) => mayShow(run.scope, url));
      const results = shown.map(({ title, url, snippet }) => ({ title, url, snippet }));
      const left_out = found.length - shown.length;
      return { text: JSON.stringify(results), structured: { results, ...(left_out === 0 ? {} : { left_out }) } };
    }),
    defineTool(webFetch, async ({ url, to_markdown, follow_redirects, timeout_secs }, { signal, run }) => {
      const max_bytes = Math.min(run.limits.max_response_bytes ?? MAX_PAGE_BYTES, MAX_PAGE_BYTES);
      const request = { url, to_markdown, follow_redirects, timeout_ms: timeout_secs * 1_000, max_bytes };
      const page = await withWeb('FetchFailed', signal, () => web.fetch(request, webRules(ports, run.scope), signal));
      return { text: page.truncated ? `${page.text}\n[cut after ${counted(max_bytes, 'byte')}]` : page.text };
    }),
  ];
}

async function withWeb<T>(
  code: 'SearchFailed' | 'FetchFailed',
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || signal.aborted) throw thrown;
    switch (thrown.code) {
      case 'forbidden':
        throw ToolFailure.denied('DomainNotAllowed', `${thrown.message}.`);
      case 'deadline_exceeded':
        throw new ToolFailure(
          'TimedOut',
          `${thrown.message}: try again with more time, or use another page`,
          'recoverable',
          thrown,
        );
      case 'invalid_argument':
        throw new ToolFailure('InvalidArguments', thrown.message, 'recoverable', thrown);
      case 'internal':
        throw thrown;
      default:
        throw new ToolFailure(code, thrown.message, 'recoverable', thrown);
    }
  }
}

const URL_CHARS = 8_192;

const QUERY_CHARS = 2_000;

const MAX_RESULTS = 20;

const MAX_TIMEOUT_SECS = 300;

export const webSearch = defineContract({
  ...reading,
  name: 'web.search',
  description: 'Searches the web; answers titles, addresses and snippets.',
  input: toolArguments({
    query: z.string().min(1).max(QUERY_CHARS),
    max_results: z.int().min(1).max(MAX_RESULTS).default(10),
  }),
  touches: () => ({ network: true }),
});

export const webFetch = defineContract({
  ...reading,
  name: 'web.fetch',
  description: 'Fetches a page or file from the web as text; HTML becomes markdown unless to_markdown is false.',
  input: toolArguments({
    url: z
      .string()
      .max(URL_CHARS)
      .regex(/^https?:\/\//, 'expected an address that starts with http:// or https://')
      .refine((url) => !/[\s\\\p{Cc}]/u.test(url), 'expected no blanks, control characters or backslashes')
      .refine((url) => URL.canParse(url), 'expected a well-formed address')
      .refine(withoutUser, 'expected no user name and password'),
    to_markdown: z.boolean().default(true),
    follow_redirects: z.boolean().default(true),
    timeout_secs: z.int().min(1).max(MAX_TIMEOUT_SECS).default(30),
  }),
  touches: ({ url }) => ({ domains: [{ field: 'url', domain: hostOf(url) }] }),
});

function withoutUser(text: string): boolean {
  const url = URL.parse(text);
  return url === null || (url.username === '' && url.password === '');
}

/** Host of a validated URL; IPv6 addresses without brackets. */
const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '');

export const WEB_CONTRACTS = [webSearch, webFetch] as const;
