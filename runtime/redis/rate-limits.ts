import { checkTake, type RateCount, type RateLimit, type RateLimits } from '../rate-limits.ts';
import { type Connection, connect, masters, redisFailure } from './connection.ts';
import { FcallBatcher } from './fcall-batcher.ts';
import { Keys } from './keys.ts';
import { loadLibrary, readLibrary } from './library.ts';
import { integer, list } from './replies.ts';

interface RedisRateLimitsOptions {
  /** As in `RedisActorStore`. */
  readonly urls: string | readonly string[];
  /** Prefix of every key. Installations that share a Redis need different ones. Default `svc`. */
  readonly prefix?: string;
  readonly warn?: (warning: string) => void;
}

/**
 * Counters on Redis, single, Sentinel or Cluster. Each call is one atomic function on the server's clock, so nodes
 * whose clocks differ agree. Fails with `unavailable` when Redis cannot be reached. A call whose answer was lost may
 * have counted, so a repeat may count twice, but never too little. A failover may lose the last counts.
 */
export class RedisRateLimits implements RateLimits {
  readonly #connection: Connection;
  readonly #calls: FcallBatcher;
  readonly #keys: Keys;
  readonly #library = readLibrary();

  constructor({ urls, prefix = 'svc', warn = () => {} }: RedisRateLimitsOptions) {
    this.#keys = new Keys(prefix);
    this.#connection = connect(urls, 'svc-rates', 'commands');
    this.#connection.on('error', (error: Error) => warn(`Redis connection: ${error.message}`));
    this.#calls = new FcallBatcher(this.#connection, this.#library, this.#keys, () => null);
  }

  async open(): Promise<void> {
    try {
      await this.#connection.connect();
      await loadLibrary(masters(this.#connection), this.#library);
    } catch (error) {
      await this.close();
      throw redisFailure(error);
    }
  }

  async take(tenant: string, limits: readonly RateLimit[], units = 1): ReturnType<RateLimits['take']> {
    checkTake(tenant, limits, units);
    if (limits.length === 0) return { taken: true };
    const reply = await this.#calls.call('take', tenant, (keys, args) => {
      args.push(limits.length, units);
      for (const { key, limit, windowMs } of limits) {
        keys.push(this.#keys.rate(tenant, windowMs, key));
        args.push(limit, windowMs);
      }
    });
    const [refusing, retryAfterMs] = list(reply);
    const broken = limits[integer(refusing) - 1];
    return broken === undefined ? { taken: true } : { taken: false, broken, retryAfterMs: integer(retryAfterMs) };
  }

  async read(tenant: string, limits: readonly RateLimit[]): Promise<readonly RateCount[]> {
    checkTake(tenant, limits, 0);
    if (limits.length === 0) return [];
    const reply = await this.#calls.call('counts', tenant, (keys, args) => {
      args.push(limits.length);
      for (const { key, windowMs } of limits) {
        keys.push(this.#keys.rate(tenant, windowMs, key));
        args.push(windowMs);
      }
    });
    const flat = list(reply).map(integer);
    return limits.map((_bound, n) => ({ used: flat[n * 2] ?? 0, resetsAt: flat[n * 2 + 1] ?? 0 }));
  }

  async close(): Promise<void> {
    this.#connection.disconnect();
  }
}
