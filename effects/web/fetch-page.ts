import { type Agent, request } from 'undici';
import { outgoingTrace } from '../../runtime/calls/calls-of-effect.ts';
import type { Clock } from '../../runtime/clock.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { type FetchedPage, type FetchRequest, PageRefused, type WebRules } from '../../usecases/ports/web.ts';
import { type ContentType, checkTextual, decodeText, isHtml, parseContentType, readBody } from './body.ts';
import { type AddressGuard, agentFor, type Resolve, resolveChecked } from './guarded-agent.ts';
import type { MarkdownConversions } from './markdown.ts';

export interface FetchParts {
  readonly guard: AddressGuard;
  readonly resolve: Resolve;
  readonly conversions: MarkdownConversions;
  readonly clock: Clock;
  readonly userAgent: string;
  /** Upper bound for one page. */
  readonly maxBytes: number;
  readonly timeoutCeilingMs: number;
  /** Root certificates for TLS, in tests. */
  readonly ca?: string;
}

const MAX_REDIRECTS = 10;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Fetches one page over all its redirects, within its time-out. */
export async function fetchPage(
  parts: FetchParts,
  asked: FetchRequest,
  rules: WebRules,
  signal: AbortSignal,
): Promise<FetchedPage> {
  signal.throwIfAborted();
  const url = parsePageUrl(asked.url);
  const timeoutMs = Math.min(asked.timeout_ms, parts.timeoutCeilingMs);
  const late = new AbortController();
  const text = `web.fetch: no answer of ${domainOf(url)} within ${timeoutMs} ms`;
  const cancel = parts.clock.after(timeoutMs, () => late.abort(new SvcError('deadline_exceeded', text)));
  const stop = AbortSignal.any([signal, late.signal]);
  try {
    return await follow(parts, asked, { url, rules, stop, timeoutMs });
  } catch (thrown) {
    stop.throwIfAborted();
    throw thrown;
  } finally {
    cancel();
  }
}

interface Visit {
  readonly url: URL;
  readonly rules: WebRules;
  readonly stop: AbortSignal;
  readonly timeoutMs: number;
}

async function follow(parts: FetchParts, asked: FetchRequest, first: Visit): Promise<FetchedPage> {
  let { url } = first;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const answer = await visit(parts, asked, { ...first, url });
    if ('page' in answer) return answer.page;
    url = parseRedirect(answer.location, url);
  }
  throw new SvcError('failed_precondition', `web.fetch: more than ${MAX_REDIRECTS} redirects`);
}

type Answer = { readonly page: FetchedPage } | { readonly location: string };

/** One hop: checks the rules, resolves and checks the addresses, connects to exactly these. */
async function visit(parts: FetchParts, asked: FetchRequest, hop: Visit): Promise<Answer> {
  const { url, rules, stop, timeoutMs } = hop;
  const host = domainOf(url);
  rules.checkDomain(host);
  const addresses = await resolveChecked(host, { guard: parts.guard, resolve: parts.resolve, signal: stop });
  const agent = agentFor(addresses, timeoutMs, parts.ca);
  try {
    return await ask(agent, parts, asked, hop);
  } catch (thrown) {
    if (thrown instanceof SvcError) throw thrown;
    stop.throwIfAborted();
    const code = systemCode(thrown);
    throw new SvcError('unavailable', `web.fetch: ${host} could not be read (${code})`, { cause: thrown });
  } finally {
    // Drops the rest of the body.
    await agent.destroy();
  }
}

async function ask(agent: Agent, parts: FetchParts, asked: FetchRequest, { url, stop }: Visit): Promise<Answer> {
  const { statusCode, headers, body } = await request(url, {
    dispatcher: agent,
    signal: stop,
    method: 'GET',
    headers: {
      'user-agent': parts.userAgent,
      accept: 'text/html,application/xhtml+xml,text/markdown,text/plain,application/json,*/*;q=0.5',
      'accept-encoding': 'gzip, br, deflate',
      ...outgoingTrace(),
    },
  });
  // An error after the body was read is only the end of the connection.
  body.on('error', () => {});
  const location = one(headers.location);
  if (REDIRECTS.has(statusCode) && location !== undefined) {
    if (asked.follow_redirects) return { location };
    const target = parseRedirect(location, url);
    const text = `${statusCode}: redirects to ${target.href}`;
    return { page: { status: statusCode, url: url.href, content_type: 'text/plain', text, truncated: false } };
  }
  if (statusCode >= 400) throw new PageRefused(domainOf(url), statusCode);
  const content = parseContentType(one(headers['content-type']) ?? '');
  checkTextual(content, one(headers['content-length']));
  const maxBytes = Math.min(asked.max_bytes, parts.maxBytes);
  const { bytes, truncated } = await readBody(body, one(headers['content-encoding']) ?? '', maxBytes);
  const shown = await present(parts, asked, { text: decodeText(bytes, content), content, url, stop });
  const page = { status: statusCode, url: url.href, content_type: content.type, text: shown.text };
  return { page: { ...page, truncated: truncated || shown.truncated } };
}

async function present(
  { conversions }: FetchParts,
  { to_markdown }: FetchRequest,
  page: { readonly text: string; readonly content: ContentType; readonly url: URL; readonly stop: AbortSignal },
): Promise<{ readonly text: string; readonly truncated: boolean }> {
  if (!to_markdown || !isHtml(page.content)) return { text: page.text, truncated: false };
  return conversions.convert(page.text, page.url.href, page.stop);
}

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);

const MAX_URL_CHARS = 8_192;

/** Ports from 1024 that the Fetch standard blocks, and those of stores without a password by default. Below 1024 only 80 and 443 are allowed. */
const BLOCKED_PORTS = new Set([
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697],
  ...[10_080, 2_375, 2_376, 2_379, 2_380, 3_306, 5_432, 6_379, 10_250, 10_255, 11_211, 27_017],
]);

/**
 * Parses a URL into its normal form: WHATWG rules convert decimal, octal and hexadecimal IPv4 to dotted form and names to
 * ASCII; the dot at the end of a name is removed. Throws `invalid_argument` (field url), and `forbidden` for a port.
 */
function parsePageUrl(text: string): URL {
  if (text.length > MAX_URL_CHARS) throw wrong(`at most ${MAX_URL_CHARS} characters`);
  if (!/^https?:\/\//i.test(text)) throw wrong('a URL that starts with http:// or https://');
  if (hasOddCharacters(text)) throw wrong('no blanks, control characters or backslashes');
  const url = URL.parse(text);
  if (url === null) throw wrong('a URL');
  return checkedUrl(url);
}

/** The target of a redirect. Throws `forbidden` for another scheme and for https to http. */
function parseRedirect(location: string, from: URL): URL {
  const url = location.length > MAX_URL_CHARS ? null : URL.parse(location, from.href);
  if (url === null) throw new SvcError('forbidden', `${from.hostname} redirects to an invalid URL`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new SvcError('forbidden', `${from.hostname} redirects to the scheme ${url.protocol}, which is not allowed`);
  }
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    throw new SvcError('forbidden', `${from.hostname} redirects from https to http`);
  }
  return checkedUrl(url);
}

/** Name or address of a URL without brackets, for policy and resolver. */
const domainOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

function checkedUrl(url: URL): URL {
  if (url.username !== '' || url.password !== '') throw wrong('no user name and password in the URL');
  const host = url.hostname.replace(/\.$/, '');
  if (host === '' || host.endsWith('.')) throw wrong('a host name');
  url.hostname = host;
  url.hash = '';
  const port = Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port);
  if ((port < 1_024 && port !== 80 && port !== 443) || BLOCKED_PORTS.has(port)) {
    throw new SvcError('forbidden', `url: port ${port} is not allowed`, { field: 'url' });
  }
  return url;
}

const hasOddCharacters = (text: string): boolean =>
  [...text].some((char) => char <= ' ' || char === '\\' || char === '\x7f');

const wrong = (expected: string): SvcError => invalidField('url', `expected ${expected}`);
