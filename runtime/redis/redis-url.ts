import { SvcError } from '../errors.ts';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Where Redis is, as read from the setting `spec.stores.redis`. */
export interface RedisLocation {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  readonly hosts: readonly HostPort[];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  /** Sentinel: name of the master. */
  readonly master: string | undefined;
}

const SCHEME = /^(rediss?)(\+cluster|\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?#]+)(?:\/([^?#]*))?$/;
const EXPECTED =
  'redis://host:port/db, rediss://…, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/master';

/** Reads a URL or a list of URLs (a list names the nodes of one Cluster). Errors never repeat the text: it may hold a password. */
export function parseRedisUrls(urls: string | readonly string[]): RedisLocation {
  const list = typeof urls === 'string' ? [urls] : urls;
  const locations = list.map(parseOne);
  const first = locations[0];
  if (first === undefined) throw bad('it is empty');
  if (locations.length === 1) return first;
  if (locations.some((location) => location.kind === 'sentinel')) throw bad('a list of URLs names Cluster nodes only');
  return { ...first, kind: 'cluster', hosts: locations.flatMap((location) => location.hosts) };
}

function parseOne(url: string): RedisLocation {
  const match = SCHEME.exec(url);
  const hostList = match?.[4];
  if (match === null || hostList === undefined) throw bad('the URL is not understood');
  const kind = match[2] === '+cluster' ? 'cluster' : match[2] === '+sentinel' ? 'sentinel' : 'single';
  const path = match[5] ?? '';
  const hosts = hostList.split(',').map((text) => parseHost(text, kind === 'sentinel' ? 26_379 : 6379));
  if (kind === 'single' && hosts.length > 1) throw bad('several hosts need redis+cluster:// or redis+sentinel://');
  if (kind === 'sentinel' && path === '') throw bad('a Sentinel URL ends in /master-name');
  if (kind === 'cluster' && path !== '') throw bad('a Cluster has no database number');
  if (kind === 'single' && !/^\d{0,3}$/.test(path)) throw bad('the database is not a number');
  const [user, password] = credentials(match[3]);
  return {
    kind,
    hosts,
    tls: match[1] === 'rediss',
    username: user,
    password,
    db: kind === 'single' && path !== '' ? Number(path) : 0,
    master: kind === 'sentinel' ? path : undefined,
  };
}

function parseHost(text: string, defaultPort: number): HostPort {
  const match = /^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1];
  const port = match?.[2] === undefined ? defaultPort : Number(match[2]);
  if (host === undefined || port < 1 || port > 65_535) throw bad('a host is not host:port');
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

function credentials(text: string | undefined): [string | undefined, string | undefined] {
  if (text === undefined || text === '') return [undefined, undefined];
  const colon = text.indexOf(':');
  try {
    if (colon < 0) return [undefined, decodeURIComponent(text)];
    const user = decodeURIComponent(text.slice(0, colon));
    return [user === '' ? undefined : user, decodeURIComponent(text.slice(colon + 1))];
  } catch {
    throw bad('user or password is not percent-encoded');
  }
}

const bad = (why: string): SvcError =>
  new SvcError('invalid_config', `spec.stores.redis: ${why}; expected ${EXPECTED}`, { field: 'spec.stores.redis' });
