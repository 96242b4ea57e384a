/** The agent's and the context's rules for hosts, checked for each redirect. */
export interface WebRules {
  /** Throws `forbidden` naming the domain. Pure. */
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
  /** After redirects. */
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
 * The web for tools (E5), implemented by web.ts. Addresses that are not global (private, loopback, link-local, metadata) are
 * refused after DNS resolution, and the connection goes to the address that was checked. Throws `forbidden`,
 * `invalid_argument`, `unavailable` (network), `deadline_exceeded`, `failed_precondition` (no provider; HTTP 4xx, 5xx).
 */
export interface Web {
  fetch(request: FetchRequest, rules: WebRules, signal: AbortSignal): Promise<FetchedPage>;
  search(
    query: { readonly text: string; readonly max_results: number },
    signal: AbortSignal,
  ): Promise<readonly SearchResult[]>;
}
