import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { SvcError } from '../errors.ts';
import { backoffMs } from '../kit/waits.ts';

/** A connection for commands or for subscriptions, to one server or to a Cluster. */
export type Connection = Redis | Cluster;

/**
 * Longest time that a call waits for its answer, milliseconds. It then fails with `unavailable` and may be repeated.
 */
const CALL_TIMEOUT_MS = 5_000;

/** A server that sends nothing for this long while calls wait counts as dead, and the connection is renewed. */
const SILENCE_MS = 6_000;

const CONNECT_TIMEOUT_MS = 3_000;

const RETRY_CAP_MS = 1_000;

/** Delay before a reconnect, with full jitter so that the nodes of a fleet do not reconnect together. */
const reconnectDelayMs = (attempt: number): number =>
  20 + Math.floor(Math.random() * backoffMs(attempt, 25, RETRY_CAP_MS));

type Use = 'commands' | 'subscriptions' | 'jobs';

const BY_USE: Readonly<Record<Use, RedisOptions>> = {
  /**
   * A call on a broken connection fails at once, and its caller decides. On Cluster the library still sends a call
   * again when the connection closed under it, and a network may deliver one late: every call is safe against that.
   */
  commands: {
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    commandTimeout: CALL_TIMEOUT_MS,
  },
  /** A subscription waits until it can be made, because it is requested only once. */
  subscriptions: { maxRetriesPerRequest: null, enableOfflineQueue: true },
  /** BullMQ's blocking reads must survive a reconnect, and BullMQ refuses any other setting. */
  jobs: { maxRetriesPerRequest: null, autoResendUnfulfilledCommands: true, enableOfflineQueue: true },
};

export function connect(urls: string | readonly string[], name: string, use: Use): Connection {
  const location = parseRedisUrls(urls);
  const options: RedisOptions = {
    ...authentication(location),
    lazyConnect: true,
    connectionName: name,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: reconnectDelayMs,
    // After a failover the old master answers READONLY: reconnect to find the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...BY_USE[use],
  };
  if (location.kind === 'cluster') return cluster(location, options, use);
  const connection = single(location, options);
  lookAfterStreams(connection, use === 'commands' ? SILENCE_MS : null);
  return connection;
}

function authentication(location: RedisLocation): RedisOptions {
  return {
    ...(location.username === undefined ? {} : { username: location.username }),
    ...(location.password === undefined ? {} : { password: location.password }),
    ...(location.tls ? { tls: {} } : {}),
  };
}

function single(location: RedisLocation, options: RedisOptions): Redis {
  if (location.kind === 'sentinel') {
    return new Redis({
      ...options,
      sentinels: [...location.hosts],
      name: location.master ?? '',
      sentinelRetryStrategy: reconnectDelayMs,
      ...(location.tls ? { enableTLSForSentinelMode: true } : {}),
    });
  }
  const [host] = location.hosts;
  return new Redis({
    ...options,
    db: location.db,
    ...(host === undefined ? {} : { host: host.host, port: host.port }),
  });
}

function cluster(location: RedisLocation, options: RedisOptions, use: Use): Cluster {
  return new Cluster([...location.hosts], {
    lazyConnect: true,
    enableOfflineQueue: options.enableOfflineQueue ?? false,
    clusterRetryStrategy: reconnectDelayMs,
    retryDelayOnFailover: 100,
    retryDelayOnClusterDown: 100,
    maxRedirections: 8,
    // One connection to each master, as soon as channels of its slots are subscribed.
    shardedSubscribers: use === 'subscriptions',
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    redisOptions: use === 'commands' ? { ...options, socketTimeout: SILENCE_MS } : options,
  });
}

/** Every server that accepts writes. Functions are loaded on each of them. */
export const masters = (connection: Connection): Redis[] =>
  connection instanceof Cluster ? connection.nodes('master') : [connection];

interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** The Redis servers named by the setting `spec.stores.redis`. */
interface RedisLocation {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  readonly hosts: readonly HostPort[];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  /** Name of the master, for Sentinel. */
  readonly master: string | undefined;
}

const SCHEME = /^(rediss?)(\+cluster|\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?#]+)(?:\/([^?#]*))?$/;

const EXPECTED =
  'redis://host:port/db, rediss://…, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/master';

/**
 * Parses a URL or a list of URLs (a list names the nodes of one Cluster). Errors never repeat the text, because it may
 * hold a password.
 */
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

/** Errors of the server after which the same call may succeed later. The server wrote either nothing or everything. */
const PASSING =
  /^(OOM|READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|MISCONF|NOREPLICAS|UNKILLABLE|MOVED|ASK|CROSSSLOT)\b/;

const DENIED = /^(NOAUTH|WRONGPASS|NOPERM)\b/;

export const isFunctionMissing = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('Function not found');

/**
 * Converts the error of a failed call: `unavailable` for an error that a repeat may cure (the call may have happened),
 * `internal` for the rest. The server's text stays in `cause`, because it may contain keys.
 */
export function redisFailure(error: unknown): SvcError {
  if (error instanceof SvcError) return error;
  if (!(error instanceof Error)) return new SvcError('internal', undefined, { cause: error });
  if (DENIED.test(error.message)) {
    const text = 'Redis refuses the credentials or permissions of this node.';
    return new SvcError('unavailable', text, { store: 'actors', cause: error });
  }
  if (error.name === 'ReplyError' && !PASSING.test(error.message)) {
    return new SvcError('internal', undefined, { cause: error });
  }
  const word = PASSING.exec(error.message)?.[1];
  const message = word === undefined ? 'Redis cannot be reached.' : `Redis cannot do this now (${word}).`;
  return new SvcError('unavailable', message, { store: 'actors', cause: error });
}

/** How often a stream is checked within the time in which it may be silent. */
const LOOKS = 6;

/** A client of Redis, which has one stream after another. */
type Client = Pick<Redis, 'on' | 'stream' | 'commandQueue'>;

/**
 * Looks after each stream that a client opens. When calls wait and the server sends nothing for `silenceMs`, the stream
 * is ended. Null: silence is usual.
 */
export function lookAfterStreams(client: Client, silenceMs: number | null): void {
  let stop = (): void => {};
  client.on('connect', () => {
    stop();
    readAtOnce(client.stream);
    stop = silenceMs === null ? () => {} : endWhenSilent(client, silenceMs);
  });
  client.on('close', () => stop());
}

/**
 * Makes the stream emit each chunk at once. The client library begins to listen in a way that Node does not notice, so that
 * Node would keep the chunk until the next tick.
 */
function readAtOnce(stream: Client['stream']): void {
  const nothing = (): void => {};
  stream.on('data', nothing);
  stream.off('data', nothing);
}

/** The library has a setting for this (`socketTimeout`), which makes a timer and a listener for each call. */
function endWhenSilent(client: Client, silenceMs: number): () => void {
  const { stream } = client;
  const everyMs = silenceMs / LOOKS;
  let [read, readAt, lookedAt] = [stream.bytesRead, performance.now(), performance.now()];
  const look = (): void => {
    const now = performance.now();
    // After a late look there may be answers that this process had no time to read.
    const isLate = now - lookedAt > 2 * everyMs;
    lookedAt = now;
    if (isLate || client.commandQueue.length === 0 || stream.bytesRead !== read) {
      [read, readAt] = [stream.bytesRead, now];
      return;
    }
    // A call may have begun to wait right after the last look.
    if (now - readAt > silenceMs + everyMs) stream.destroy(new Error(`the server sent nothing for ${silenceMs} ms`));
  };
  const timer = setInterval(look, everyMs).unref();
  return () => clearInterval(timer);
}
