import type { AcquireOutcome, Lease, Leases, Unsubscribe } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Bulletins } from './bulletins.ts';
import type { Keys } from './keys.ts';
import { integer, integerOrNull, list, text } from './reply.ts';
import type { SectionCalls } from './sections.ts';

export class RedisLeases implements Leases {
  readonly #calls: SectionCalls;
  readonly #bulletins: Bulletins;
  readonly #keys: Keys;

  constructor(calls: SectionCalls, bulletins: Bulletins, keys: Keys) {
    this.#calls = calls;
    this.#bulletins = bulletins;
    this.#keys = keys;
  }

  async acquire(partition: Partition, node: string, grant: string, ttlMs: number): Promise<AcquireOutcome> {
    const { meta, timers } = this.#keys.of(partition);
    const reply = await this.#calls.call('acquire', partition, (keys, args) => {
      keys.push(meta, timers);
      args.push(partition, node, grant, ttlMs);
    });
    const [granted, second, third, fourth] = list(reply);
    if (granted !== 1) return { kind: 'held', by: text(second), remainingMs: integer(third) };
    return {
      kind: 'granted',
      lease: { partition, node, epoch: integer(second), grant },
      cursor: integer(third),
      nextTimerAt: integerOrNull(fourth),
    };
  }

  async renew(leases: readonly Lease[], ttlMs: number): Promise<Lease[]> {
    const replies = await Promise.all(
      leases.map(({ partition, epoch, grant }) =>
        this.#calls.call('renew', partition, (keys, args) => {
          keys.push(this.#keys.of(partition).meta);
          args.push(epoch, grant, ttlMs);
        }),
      ),
    );
    return leases.filter((_, n) => replies[n] !== 1);
  }

  async release({ partition, epoch, grant }: Lease): Promise<void> {
    await this.#calls.call('release', partition, (keys, args) => {
      keys.push(this.#keys.of(partition).meta);
      args.push(epoch, grant);
    });
  }

  onBell(node: string, ring: (partition: Partition) => void): Unsubscribe {
    return this.#bulletins.listen(this.#keys.bell(node), (message) => {
      for (const name of message.toString('utf8').split('\n')) if (isPartition(name)) ring(name);
    });
  }
}

export const isPartition = (name: string): name is Partition => /^.+:\d+$/.test(name);
