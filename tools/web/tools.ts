import type { Web, WebRules } from '../../effects/web/api.ts';
import type { ToolScope } from '../../manifests/tool/scope.ts';
import { SvcError } from '../../runtime/errors.ts';
import { ToolFailure } from '../failure.ts';
import { defineTool, type Tool } from '../tool.ts';
import { webFetch, webSearch } from './contracts.ts';

export interface WebPorts {
  readonly web: Web;
  /** Why the scope does not reach a host, or null (security/policy): asked again at each redirect. */
  domainProblem(scope: ToolScope, tool: string, domain: string): string | null;
}

const MAX_PAGE_BYTES = 5 * 1024 * 1024;

/** web.search and web.fetch. What the network does is a result: the model may go on without it. */
export function webTools({ web, domainProblem }: WebPorts): Tool[] {
  const rules = (scope: ToolScope): WebRules => ({
    checkDomain(domain) {
      const problem = domainProblem(scope, webFetch.name, domain);
      if (problem !== null) throw new SvcError('forbidden', problem);
    },
  });
  // The provider is the operator's choice; what it finds is the agent's to see only where it might have looked itself.
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
      const page = await withWeb('FetchFailed', signal, () => web.fetch(request, rules(run.scope), signal));
      return { text: page.truncated ? `${page.text}\n[cut after ${max_bytes} bytes]` : page.text };
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
          `${thrown.message}: try again with more time, or another page`,
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
