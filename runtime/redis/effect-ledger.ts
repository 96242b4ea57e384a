import type { ClaimOutcome, EffectError, EffectLedger, EffectRow } from '../actor-store.ts';
import { asAddress, type Partition } from '../address.ts';
import { errorLine, readErrorLine } from '../effect-ledger.ts';
import { SvcError } from '../errors.ts';
import type { Unsubscribe } from '../leases.ts';
import type { Delivery } from '../message.ts';
import { redisFailure } from './connection.ts';
import type { RedisCalls } from './fcall-batcher.ts';
import { seenField } from './keys.ts';
import type { PubSub } from './pubsub.ts';
import { integer, list, text } from './replies.ts';
import type { ServerTimes } from './wake-ups.ts';

type Words = (string | number)[];

const LATE = -1;

export class RedisEffectLedger implements EffectLedger {
  readonly #redis: RedisCalls;
  readonly #pubsub: PubSub;
  readonly #times: ServerTimes;

  constructor(redis: RedisCalls, pubsub: PubSub, times: ServerTimes) {
    this.#redis = redis;
    this.#pubsub = pubsub;
    this.#times = times;
  }

  async openEffects(partition: Partition): Promise<EffectRow[]> {
    try {
      const rows = await this.#redis.connection.hgetall(this.#redis.keys.of(partition).effects);
      return Object.entries(rows).map(([id, row]) => readRow(id, row));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async effectRows(partition: Partition, ids: readonly string[]): Promise<(EffectRow | null)[]> {
    if (ids.length === 0) return [];
    try {
      const rows = await this.#redis.connection.hmget(this.#redis.keys.of(partition).effects, ...ids);
      return ids.map((id, index) => {
        const row = rows[index];
        return row == null ? null : readRow(id, row);
      });
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async effectBodies(partition: Partition, ids: readonly string[]): Promise<(string | null)[]> {
    if (ids.length === 0) return [];
    try {
      return await this.#redis.connection.hmget(this.#redis.keys.of(partition).effectBodies, ...ids);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async claimEffect(
    partition: Partition,
    id: string,
    runner: string,
    ttlMs: number,
    over = '',
    claim = '',
  ): Promise<ClaimOutcome> {
    const words = [id, runner, ttlMs, over, claim];
    const [kind, second, third, mode] = list(await this.#call('claim_effect', partition, words));
    switch (kind) {
      case 'claimed':
      case 'in_doubt':
        return { kind, attempt: integer(second), body: text(third) };
      case 'busy':
        return { kind, by: text(third), retryAfterMs: integer(second), once: mode === 'once' };
      case 'gone':
        return { kind };
      default:
        throw new SvcError('internal', undefined, { cause: new TypeError('unknown answer to a claim') });
    }
  }

  async keepEffect(partition: Partition, id: string, attempt: number, ttlMs: number): Promise<boolean> {
    return (await this.#call('keep_effect', partition, [id, attempt, ttlMs])) === 1;
  }

  async reopenEffect(
    partition: Partition,
    id: string,
    attempt: number,
    delayMs: number,
    runner = '',
    error?: EffectError,
  ): Promise<boolean> {
    const line = error === undefined ? '' : errorLine(error);
    return (await this.#call('reopen_effect', partition, [id, attempt, Math.ceil(delayMs), runner, line])) === 1;
  }

  async progressEffect(partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean> {
    return this.#report(partition, id, attempt, 0, delivery);
  }

  async settleEffect(partition: Partition, id: string, attempt: number, delivery: Delivery): Promise<boolean> {
    return this.#report(partition, id, attempt, 1, delivery);
  }

  async #report(partition: Partition, id: string, attempt: number, final: 0 | 1, delivery: Delivery): Promise<boolean> {
    const call = (sent: number) =>
      this.#call('report_effect', partition, [id, attempt, final, seenField(delivery.id), sent, delivery.body]);
    const reply = await call(await this.#times.nowOrRead(partition));
    if (reply !== LATE) return reply === 1;
    // The caller still waits, so this call is not late: the server time known here is outdated.
    const again = await call(await this.#times.ask(partition));
    if (again !== LATE) return again === 1;
    throw new SvcError('unavailable', 'The clock of Redis was set back.', { store: 'actors' });
  }

  onEffectCancelled(stop: (id: string) => void): Unsubscribe {
    return this.#pubsub.listen(this.#redis.keys.cancels(), (message) => {
      for (const id of message.toString('utf8').split('\n')) stop(id);
    });
  }

  #call(name: string, partition: Partition, words: Words): Promise<unknown> {
    const { effects, effectBodies, meta, mail, older } = this.#redis.keys.of(partition);
    return this.#redis.calls.call(name, partition, (keys, args) => {
      keys.push(effects, effectBodies, meta, mail, older);
      args.push(...words);
    });
  }
}

/**
 * Parses a row: `status\nattempt\nuntil\nrunner\nmode\nqueue\naddress\nclaim\nfairness key\nlast error` (functions/effects.lua).
 */
function readRow(id: string, row: string): EffectRow {
  const [status, attempt, until, runner = '', mode, queue, address, , fairnessKey = '', error = ''] = row.split('\n');
  const known = (status === 'open' || status === 'started') && (mode === 'once' || mode === 'repeatable');
  if (!known || queue === undefined || address === undefined) {
    throw new SvcError('internal', undefined, { cause: new TypeError(`effect ${id} has an unreadable row`) });
  }
  return {
    id,
    queue,
    address: asAddress(address),
    mode,
    ...(fairnessKey === '' ? {} : { fairnessKey }),
    status,
    attempt: integer(attempt),
    runner,
    until: integer(until),
    ...lastErrorIn(error),
  };
}

function lastErrorIn(line: string): { readonly lastError?: EffectError } {
  const lastError = readErrorLine(line);
  return lastError === undefined ? {} : { lastError };
}
