import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4 } from 'node:net';
import { SvcError } from '../../runtime/errors.ts';

/** What a page can send to any site without asking first, as a form does. */
const FORM_TYPES: ReadonlySet<string> = new Set([
  'text/plain',
  'multipart/form-data',
  'application/x-www-form-urlencoded',
]);
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export const isSafe = (method: string): boolean => SAFE_METHODS.has(method);

/** What of a request tells whether a page of another site sent it. */
export interface GuardedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** Origins whose pages may call all the same. */
  readonly allowed: ReadonlySet<string>;
  /** The route takes bodies of every type: a webhook, whose sender signs it. */
  readonly takesForms: boolean;
}

/**
 * On a node without an identity provider every caller is the operator (S2), so a page of some other site in the
 * operator's browser must not become one: neither directly, nor through a name or an address that leads to this machine.
 * Throws `forbidden`, and `unsupported_media_type` for the body of a form.
 */
export function refuseForeignPages(request: GuardedRequest): void {
  const { headers, method } = request;
  refuseForeignHost(headers.host, isSafe(method));
  refuseForeignOrigin(request);
  if (!isSafe(method) && !request.takesForms && FORM_TYPES.has(essenceOf(headers['content-type']))) {
    const text = 'Content-Type: a node without an identity provider takes no body that a web form could send';
    throw new SvcError('unsupported_media_type', text, { field: 'content-type' });
  }
}

/** A name of another site may lead to 127.0.0.1; browsers take 0.0.0.0 and :: for this machine too. */
function refuseForeignHost(host: string | undefined, safe: boolean): void {
  // A client of HTTP/1.0 sends none, and a browser always does.
  if (host === undefined) return;
  const name = URL.parse(`http://${host}`)?.hostname;
  if (name !== undefined && (isThisMachine(name) || (safe && name.endsWith('.localhost')))) return;
  const text = 'Host: a node without an identity provider is called by localhost, 127.0.0.0/8 or ::1 only.';
  throw new SvcError('forbidden', text, { field: 'host' });
}

/** For host names as URLs have them: an IPv6 address in brackets. */
export const isThisMachine = (name: string): boolean =>
  name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));

/**
 * Browsers say where a page is from by `Origin` or `Sec-Fetch-Site`, some of them by one of the two only; programs by
 * neither. An origin on this machine alone is what a program of this machine says of itself.
 */
function refuseForeignOrigin({ headers, allowed }: GuardedRequest): void {
  const { origin } = headers;
  if (origin !== undefined) {
    if (allowed.has(origin)) return;
    const from = URL.parse(origin)?.hostname;
    if (from === undefined || !(isThisMachine(from) || from.endsWith('.localhost'))) throw foreign('Origin');
  }
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw foreign('Sec-Fetch-Site');
}

const foreign = (header: string): SvcError =>
  new SvcError('forbidden', `${header}: pages of other sites may not call a node without an identity provider.`, {
    field: header.toLowerCase(),
  });

const essenceOf = (type: string | undefined): string => (type ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
