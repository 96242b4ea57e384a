import { Agent } from 'undici';
import type { NodeWeb } from '../../manifests/node/containers.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Web } from '../../usecases/ports/web.ts';
import { type FetchParts, fetchPage } from './fetch-page.ts';
import { AddressGuard, type Resolve, systemResolve } from './guarded-agent.ts';
import { MarkdownConversions } from './markdown.ts';
import { misconfigured, searchWeb } from './search.ts';

export interface WebParts {
  /** `spec.web`. */
  readonly settings: NodeWeb;
  /** Resolves `spec.web.search.api_key`, for each search. */
  readonly resolveSecret: (reference: string) => Promise<string>;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: the system's resolver. */
  readonly resolve?: Resolve;
  /** Addresses of this machine. Default: those of its interfaces. */
  readonly ownAddresses?: () => ReadonlySet<string>;
  /** Root certificates (PEM) that replace the system's, for web.fetch. */
  readonly ca?: string;
  /** Time-out for the conversion of one page. */
  readonly conversionLimitMs?: number;
}

/** The port `Web` by the node's settings (W43). */
export function createWeb(parts: WebParts): Web & { close(): Promise<void> } {
  const { settings, clock, random } = parts;
  const fetching: FetchParts = {
    guard: new AddressGuard(settings.allow_addresses, parts.ownAddresses),
    resolve: parts.resolve ?? systemResolve,
    conversions: new MarkdownConversions(parts.conversionLimitMs),
    clock,
    userAgent: settings.user_agent,
    maxBytes: settings.max_bytes,
    timeoutCeilingMs: settings.timeout_ceiling_secs * 1_000,
    ca: parts.ca,
  };
  // The operator chooses the provider, so any address is allowed. Redirects are not followed.
  const agent = new Agent({ connections: 8 });
  const { search } = settings;
  return {
    fetch: (request, rules, signal) => fetchPage(fetching, request, rules, signal),
    async search(query, signal) {
      if (search === undefined) throw misconfigured('no provider is configured (spec.web.search)');
      const { provider, endpoint, api_key } = search;
      const key = async () => (api_key === undefined ? null : parts.resolveSecret(api_key));
      return searchWeb(
        { provider, endpoint, key, agent, clock, random, userAgent: settings.user_agent },
        query,
        signal,
      );
    },
    close: () => agent.destroy(),
  };
}
