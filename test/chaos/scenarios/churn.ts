import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type Address, addressOf, type Partition } from '../../../runtime/address.ts';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import type { LocalFigures } from '../../support/cluster/fleet-options.ts';
import { seeded } from '../../support/faulty-store.ts';
import { homeOf, TENANT } from '../addresses.ts';
import { LOST_ANSWERS } from '../lost-answers.ts';
import { committersOf } from '../one-committer.ts';
import { type ScenarioReport, timeLines } from '../report.ts';

export interface ChurnOptions {
  /** Between one and this many nodes run. */
  readonly most: number;
  readonly changes: number;
  readonly everyMs: number;
  /** Number of fresh actors, and of known actors, that each batch calls. */
  readonly perBatch: number;
  readonly seed: number;
}

const Ticked = z.object({ value: z.number() });

/**
 * Nodes join and leave: each actor has one committer at a time, and actors of partitions that did not move are not
 * loaded again.
 */
export async function churn(options: ChurnOptions): Promise<ScenarioReport> {
  const { most, seed } = options;
  // Idle actors stay in memory, so an actor that is loaded twice was moved.
  const config = { kernel: { passivate_after_ms: 3_600_000 } };
  const workload = new URL('../workload.ts', import.meta.url);
  const cluster = await startCluster({ ambiguity: LOST_ANSWERS, nodes: most, started: 1, seed, config, workload });
  try {
    return await cluster.explained(new Churn(cluster, options).run());
  } finally {
    await cluster.destroy();
  }
}

class Churn {
  readonly #cluster: Cluster;
  readonly #options: ChurnOptions;
  readonly #random: () => number;
  readonly #known: { readonly address: Address; asked: number }[] = [];
  readonly #broken: string[] = [];
  readonly #timesMs: number[] = [];
  readonly #log: string[] = [];
  /** Last report of each process of a node, by its pid. */
  readonly #seen = new Map<number, LocalFigures>();
  /** Number of loads of a process when its present lease was first seen. */
  readonly #firstLoads = new Map<string, ReadonlyMap<string, number>>();
  #untouched = 0;
  /** Partitions that a node had before and after a change, but under another lease. */
  #cameBack = 0;

  constructor(cluster: Cluster, options: ChurnOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#random = seeded(options.seed);
  }

  async run(): Promise<ScenarioReport> {
    const { changes, everyMs, perBatch, seed, most } = this.#options;
    await this.#batch();
    for (let change = 0; change < changes; change += 1) {
      const nextAt = performance.now() + everyMs;
      const before = await this.#look();
      await this.#change();
      await this.#batch();
      await this.#compare(before);
      await pause(Math.max(1, nextAt - performance.now()));
    }
    await this.#look();
    return {
      title: `1 to ${most} nodes, ${changes} changes, ${perBatch} fresh and ${perBatch} known actors called after each`,
      seed,
      lines: [
        `changes: ${this.#log.join(' ')}`,
        `${this.#known.length} actors; actors of untouched nodes that stayed in memory over a change: ${this.#untouched}`,
        `partitions that moved away and back within a change: ${this.#cameBack}`,
        ...timeLines('call to answer', this.#timesMs),
      ],
      broken: [
        ...this.#broken,
        ...committersOf([...this.#seen.values()]),
        ...(await this.#cluster.livenessBroken()),
        ...this.#cluster.crashed.map((name) => `${name} ended by itself`),
      ],
    };
  }

  /** Starts, stops or kills one node. */
  async #change(): Promise<void> {
    const { names } = this.#cluster;
    const running = names.filter((name) => this.#cluster.node(name).isRunning);
    const idle = names.filter((name) => !this.#cluster.node(name).isRunning);
    const pick = (list: readonly string[]): string => list[Math.floor(this.#random() * list.length)] ?? '';
    const grows = running.length === 1 || (idle.length > 0 && this.#random() < 0.55);
    if (grows) {
      await this.#cluster.start(pick(idle));
    } else if (this.#random() < 0.5) {
      await this.#cluster.stop(pick(running));
    } else {
      await this.#cluster.kill(pick(running));
    }
    this.#log.push(`${this.#cluster.running.length}`);
  }

  async #batch(): Promise<void> {
    const { perBatch } = this.#options;
    const known = Array.from({ length: Math.min(perBatch, this.#known.length) }, () => {
      return this.#known[Math.floor(this.#random() * this.#known.length)];
    });
    const fresh = Array.from({ length: perBatch }, () => ({
      address: addressOf('ticker', TENANT, randomUUID()),
      asked: 0,
    }));
    this.#known.push(...fresh);
    const asked = new Set([...fresh, ...known].filter((one) => one !== undefined));
    await Promise.all(
      [...asked].map(async (one) => {
        one.asked += 1;
        const due = one.asked;
        const begun = performance.now();
        const { value } = Ticked.parse(await this.#cluster.client.ask(one.address, 'Tick', {}, { tryMs: 30_000 }));
        this.#timesMs.push(performance.now() - begun);
        if (value !== due) this.#broken.push(`${one.address} answered ${value} where ${due} was due`);
      }),
    );
  }

  /** The partitions that each node holds, and the actors in its memory. */
  async #look(): Promise<Map<number, Memory>> {
    const holders = await this.#cluster.settled('between two changes');
    const looks = this.#cluster.running.map(async ({ name, pid }) => {
      const [local, loads] = await Promise.all([this.#cluster.local(name, 5_000), this.#cluster.loads(name)]);
      if (local === null || loads === null) throw new Error(`${name} did not answer between two changes`);
      this.#seen.set(pid, local);
      const held = holders.get(name) ?? new Map<Partition, number>();
      for (const [home, epoch] of held) {
        const lease = `${pid} ${home} ${epoch}`;
        if (!this.#firstLoads.has(lease)) this.#firstLoads.set(lease, loads);
      }
      return [pid, { name, held, loads }] as const;
    });
    return new Map(await Promise.all(looks));
  }

  /** On nodes that ran before and after, actors of partitions that they held all the time were not loaded again. */
  async #compare(before: ReadonlyMap<number, Memory>): Promise<void> {
    const after = await this.#look();
    for (const [pid, now] of after) {
      const then = before.get(pid);
      if (then === undefined) continue;
      for (const [home, epoch] of then.held) if ((now.held.get(home) ?? epoch) !== epoch) this.#cameBack += 1;
      for (const [address, count] of then.loads) {
        const home = homeOf(addressIn(address));
        const epoch = then.held.get(home);
        // Another epoch: the partition was moved away and came back.
        if (!address.startsWith('ticker/') || epoch === undefined || now.held.get(home) !== epoch) continue;
        // Loaded only under an earlier lease of this node, so it is not in memory now, and may be loaded.
        if (count <= (this.#firstLoads.get(`${pid} ${home} ${epoch}`)?.get(address) ?? 0)) continue;
        this.#untouched += 1;
        const again = (now.loads.get(address) ?? 0) - count;
        if (again > 0)
          this.#broken.push(
            `${address} on ${now.name} was loaded ${again} times more although ${home} stayed under epoch ${epoch}`,
          );
      }
    }
  }
}

interface Memory {
  readonly name: string;
  /** Epochs of its leases, by partition. */
  readonly held: ReadonlyMap<Partition, number>;
  readonly loads: ReadonlyMap<string, number>;
}

function addressIn(text: string): Address {
  const [kind = '', tenant = '', id = ''] = text.split('/');
  return addressOf(kind, tenant, id);
}
