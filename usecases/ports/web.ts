import { SvcError } from '../../runtime/errors.ts';

/** The agent's and the context's rules for hosts, checked again for each redirect. */
export interface WebRules {
  /** Throws `forbidden` naming the domain. Reads no state outside of the rules. */
  checkDomain(domain: string): void;
}

export interface FetchRequest {
  readonly url: string;
  readonly to_markdown: boolean;
  readonly follow_redirects: boolean;
  readonly timeout_ms: number;
  readonly max_bytes: number;
}

export interface FetchedPage {
  readonly status: number;
  /** The URL after redirects. */
  readonly url: string;
  readonly content_type: string;
  readonly text: string;
  readonly truncated: boolean;
}

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/**
 * Web access for tools (E5), implemented by web.ts. Refuses addresses that are not global (private, loopback,
 * link-local, metadata) after DNS resolution, and connects to the address that it checked. Throws `forbidden`,
 * `invalid_argument`, `unavailable` (network), `deadline_exceeded`, `failed_precondition` (no provider; HTTP 4xx, 5xx).
 */
export interface Web {
  fetch(request: FetchRequest, rules: WebRules, signal: AbortSignal): Promise<FetchedPage>;
  search(
    query: { readonly text: string; readonly max_results: number },
    signal: AbortSignal,
  ): Promise<readonly SearchResult[]>;
}

/** The error for a page whose server answered 4xx or 5xx. */
export class PageRefused extends SvcError {
  readonly status: number;

  constructor(host: string, status: number) {
    super('failed_precondition', `web.fetch: ${host} answered with HTTP status ${status}`);
    this.status = status;
  }
}
