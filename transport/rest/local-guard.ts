import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { SvcError } from '../../runtime/errors.ts';

/** Content types that a page can send to any site without a preflight request, as a form does. */
const FORM_TYPES: ReadonlySet<string> = new Set([
  'text/plain',
  'multipart/form-data',
  'application/x-www-form-urlencoded',
]);
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export const isSafe = (method: string): boolean => SAFE_METHODS.has(method);

/** The parts of a request that show whether a page of another site sent it. */
interface GuardedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** Origins whose pages may call anyway. */
  readonly allowed: ReadonlySet<string>;
  /** True for a route that accepts every content type: a webhook, whose sender signs the body. */
  readonly takesForms: boolean;
  /** The called service, for the text of a refusal. */
  readonly called?: string;
}

const OPEN_NODE = 'a node without an identity provider';

/**
 * Refuses requests from web pages of other sites. On a node without an identity provider every caller is the operator
 * (S2), so such a page in the operator's browser could act as the operator, directly or through a host name that leads
 * to this machine. Throws `forbidden`, and `unsupported_media_type` for the body of a form.
 */
export function refuseForeignPages(request: GuardedRequest): void {
  const { headers, method, called = OPEN_NODE } = request;
  refuseForeignHost(headers.host, isSafe(method), called);
  refuseForeignOrigin(request);
  if (!isSafe(method) && !request.takesForms && FORM_TYPES.has(essenceOf(headers['content-type']))) {
    const text = `Content-Type: send application/json, or application/yaml for a manifest; ${called} refuses the types of web forms`;
    throw new SvcError('unsupported_media_type', text, { field: 'content-type' });
  }
}

/**
 * The same checks for routes that need no identity, for requests that come over loopback: a page whose host name
 * resolves to this machine could read them. Other machines may call by host names that the node does not know.
 */
export function refuseForeignPagesOnLoopback(
  { method, headers, socket }: Pick<IncomingMessage, 'headers' | 'method' | 'socket'>,
  called: string,
): void {
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  if (address !== '::1' && !address.startsWith('127.')) return;
  refuseForeignPages({ method: method ?? '', headers, allowed: new Set(), takesForms: true, called });
}

/**
 * Refuses other host names: another site's name may resolve to 127.0.0.1, and browsers take 0.0.0.0 and :: for this
 * machine too.
 */
function refuseForeignHost(host: string | undefined, safe: boolean, called: string): void {
  // HTTP/1.0 clients send no Host header; browsers always do.
  if (host === undefined) return;
  const name = URL.parse(`http://${host}`)?.hostname;
  if (name !== undefined && (isThisMachine(name) || (safe && name.endsWith('.localhost')))) return;
  const text = `Host: expected localhost, 127.0.0.0/8 or ::1, since no other name may call ${called}.`;
  throw new SvcError('forbidden', text, { field: 'host' });
}

/** Whether a host name means this machine. IPv6 addresses are in brackets, as in URLs. */
export const isThisMachine = (name: string): boolean =>
  name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'));

/**
 * Refuses pages of other origins. Browsers name a page's origin in `Origin` or `Sec-Fetch-Site`, some in only one of
 * them; programs send neither. An origin on this machine without `Sec-Fetch-Site` comes from a program on this machine.
 */
function refuseForeignOrigin({ headers, allowed, called = OPEN_NODE }: GuardedRequest): void {
  const { origin } = headers;
  if (origin !== undefined) {
    if (allowed.has(origin)) return;
    const from = URL.parse(origin)?.hostname;
    if (from === undefined || !(isThisMachine(from) || from.endsWith('.localhost'))) throw foreign('Origin', called);
  }
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw foreign('Sec-Fetch-Site', called);
}

const foreign = (header: string, called: string): SvcError =>
  new SvcError('forbidden', `${header}: pages of other sites may not call ${called}.`, {
    field: header.toLowerCase(),
  });

const essenceOf = (type: string | undefined): string => (type ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
