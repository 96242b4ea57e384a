import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrls, type RedisLocation } from './redis-url.ts';

/** A connection for commands or for subscriptions, to one server or to a Cluster. */
export type Connection = Redis | Cluster;

/** Longest a call waits for its answer; a caller gets `unavailable` then and may repeat it. */
const CALL_TIMEOUT_MS = 5_000;
/** A server that keeps silent this long with calls waiting is taken for dead, the connection is renewed. */
const SILENCE_MS = 6_000;
const CONNECT_TIMEOUT_MS = 3_000;
const RETRY_CAP_MS = 2_000;

/** Full jitter, so that a fleet does not come back in step. */
const reconnectDelayMs = (attempt: number): number =>
  20 + Math.floor(Math.random() * Math.min(RETRY_CAP_MS, 25 * 2 ** Math.min(attempt, 10)));

type Use = 'commands' | 'subscriptions' | 'jobs';

const BY_USE: Readonly<Record<Use, RedisOptions>> = {
  /**
   * A call that meets a broken connection fails at once, its caller decides. On Cluster the library sends one whose
   * connection closed under it again all the same, and a network may deliver one late: every call is safe against that.
   */
  commands: {
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    commandTimeout: CALL_TIMEOUT_MS,
    socketTimeout: SILENCE_MS,
  },
  /** A subscription waits until it can be made: nobody would ask for it again. */
  subscriptions: { maxRetriesPerRequest: null, enableOfflineQueue: true },
  /** BullMQ's blocking reads must survive a reconnect, and it refuses any other setting. */
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
    // After a failover the old master answers READONLY: look for the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...BY_USE[use],
  };
  return location.kind === 'cluster' ? cluster(location, options, use) : single(location, options);
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
    // A connection to each master, once channels of its slots are listened to.
    shardedSubscribers: use === 'subscriptions',
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    redisOptions: options,
  });
}

/** Every server that takes writes: functions are loaded on each. */
export const masters = (connection: Connection): Redis[] =>
  connection instanceof Cluster ? connection.nodes('master') : [connection];
