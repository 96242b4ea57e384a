import type { Redis } from 'ioredis';
import { FORMAT, type StoreFacts } from '../store-formats.ts';
import { redisFailure } from './connection.ts';
import { inOrder, type RedisCalls } from './fcall-batcher.ts';
import { taggedCount } from './keys.ts';
import { integer } from './replies.ts';

/**
 * Mark behind a pool's count. Programs of format 1 read the count alone at their start and refuse text that is not a
 * number.
 */
const MARK = ` format=${FORMAT}`;

/** A pool's count of partitions, with or without the mark. */
export const countOf = (value: unknown): number =>
  integer(typeof value === 'string' ? value.replace(/ format=\d+$/, '') : value);

/** The facts about the store, in one hash. */
export class RedisFacts implements StoreFacts {
  readonly #redis: RedisCalls;

  constructor(redis: RedisCalls) {
    this.#redis = redis;
  }

  async facts(): Promise<ReadonlyMap<string, string>> {
    try {
      return new Map(Object.entries(await this.#redis.connection.hgetall(this.#redis.keys.facts)));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async keepFact(name: string, value: string): Promise<void> {
    const { facts, factsAsked } = this.#redis.keys;
    const number = this.#redis.order.next();
    const reply = await this.#redis.calls.call('keep_fact', facts, (keys, args) => {
      keys.push(facts, factsAsked);
      args.push(name, value, this.#redis.order.caller, number);
    });
    inOrder(reply);
  }

  #marked(count: number): string {
    return this.#redis.keys.hasTags ? taggedCount(count) : `${count}${MARK}`;
  }

  async refuseOlderPrograms(): Promise<void> {
    const { pools } = this.#redis.keys;
    try {
      const counts = Object.entries(await this.#redis.connection.hgetall(pools));
      // A count never changes once it exists, so this write may arrive late or twice.
      for (const [pool, value] of counts) await this.#redis.connection.hset(pools, pool, this.#marked(countOf(value)));
    } catch (error) {
      throw redisFailure(error);
    }
  }
}

/** Returns warnings for the start-up log about data that a crash of Redis may lose (K10). Empty when there are none. */
export async function durabilityWarnings(servers: readonly Redis[]): Promise<string[]> {
  const warnings = await Promise.all(servers.map(warningsOf));
  return [...new Set(warnings.flat())];
}

async function warningsOf(server: Redis): Promise<string[]> {
  const warnings: string[] = [];
  let settings: Map<string, string>;
  try {
    settings = await readSettings(server);
  } catch {
    // Managed services forbid CONFIG. That is reported as a warning, not as a failure.
    return ['Redis does not show its settings (CONFIG GET is refused): make sure that appendonly is on.'];
  }
  if (settings.get('appendonly') !== 'yes') {
    warnings.push('Redis appendonly is off: a crash of Redis loses everything since its last snapshot.');
  } else if (settings.get('appendfsync') !== 'always') {
    const policy = settings.get('appendfsync') ?? 'unknown';
    const loss = policy === 'everysec' ? 'up to a second (two when the disk is slow)' : 'what was not yet written out';
    warnings.push(`Redis appendfsync is ${policy}: a power failure may lose ${loss} of acknowledged work.`);
  }
  const policy = settings.get('maxmemory-policy');
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push(`Redis maxmemory-policy is ${policy}: Redis may delete mailboxes; set it to noeviction.`);
  }
  return warnings;
}

async function readSettings(server: Redis): Promise<Map<string, string>> {
  const settings = new Map<string, string>();
  for (const name of ['appendonly', 'appendfsync', 'maxmemory-policy']) {
    const reply: unknown = await server.call('CONFIG', 'GET', name);
    if (Array.isArray(reply) && typeof reply[1] === 'string') settings.set(name, reply[1]);
  }
  return settings;
}
