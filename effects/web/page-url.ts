import { SvcError } from '../../runtime/errors.ts';

const LONGEST_CHARS = 8_192;
/** Below 1024 only those of the web. Above, what the Fetch standard blocks and stores that have no password by default. */
const BLOCKED_PORTS = new Set([
  ...[1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697],
  ...[10_080, 2_375, 2_376, 2_379, 2_380, 3_306, 5_432, 6_379, 10_250, 10_255, 11_211, 27_017],
]);

/**
 * A URL to fetch, in its normal form: WHATWG rules turn decimal, octal and hexadecimal IPv4 into dotted form and names
 * into ASCII; the dot at a name's end is taken away. Throws `invalid_argument` (field url), and `forbidden` for ports.
 */
export function parsePageUrl(text: string): URL {
  if (text.length > LONGEST_CHARS) throw wrong(`at most ${LONGEST_CHARS} characters`);
  if (!/^https?:\/\//i.test(text)) throw wrong('a URL that starts with http:// or https://');
  if (hasOddCharacters(text)) throw wrong('no blanks, control characters or backslashes');
  const url = URL.parse(text);
  if (url === null) throw wrong('a URL');
  return checkedUrl(url);
}

/** Where a redirect goes. Throws `forbidden` for another scheme and for https to http. */
export function parseRedirect(location: string, from: URL): URL {
  const url = location.length > LONGEST_CHARS ? null : URL.parse(location, from.href);
  if (url === null) throw new SvcError('forbidden', `${from.hostname} redirects to something that is no URL`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new SvcError('forbidden', `${from.hostname} redirects to ${url.protocol}, which is not fetched`);
  }
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    throw new SvcError('forbidden', `${from.hostname} redirects from https to http`);
  }
  return checkedUrl(url);
}

/** Name or address of a URL as policy and resolver know it: no brackets. */
export const domainOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

function checkedUrl(url: URL): URL {
  if (url.username !== '' || url.password !== '') throw wrong('no user name and password in the URL');
  const host = url.hostname.replace(/\.$/, '');
  if (host === '' || host.endsWith('.')) throw wrong('a host name');
  url.hostname = host;
  url.hash = '';
  const port = Number(url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : url.port);
  if ((port < 1_024 && port !== 80 && port !== 443) || BLOCKED_PORTS.has(port)) {
    throw new SvcError('forbidden', `url: port ${port} is not fetched from`, { field: 'url' });
  }
  return url;
}

const hasOddCharacters = (text: string): boolean =>
  [...text].some((char) => char <= ' ' || char === '\\' || char === '\x7f');

const wrong = (expected: string): SvcError =>
  new SvcError('invalid_argument', `url: expected ${expected}`, { field: 'url' });
