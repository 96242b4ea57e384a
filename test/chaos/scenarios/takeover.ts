import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Address } from '../../../runtime/address.ts';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { seeded } from '../../support/faulty-store.ts';
import { freshIn } from '../addresses.ts';
import { LOST_ANSWERS } from '../lost-answers.ts';
import { committersOf } from '../one-committer.ts';
import { barBroken, type ScenarioReport, timeLines } from '../report.ts';

/** Fault of the owner. `restart` is a kill -9 followed by an immediate start. */
export type Death = 'kill' | 'restart' | 'freeze';

export interface TakeoverOptions {
  readonly death: Death;
  readonly rounds: number;
  /** Actors of the victim that are asked at the moment of its death. */
  readonly actors: number;
  readonly nodes: number;
  /** Whether peers hold connections to each other, by which the failure detector sees a death at once. */
  readonly watched: boolean;
  readonly seed: number;
  readonly bars: { readonly p50Ms: number; readonly p99Ms: number };
  /** Pause of each client between an answer and its next ask. */
  readonly pauseMs: number;
}

const Ticked = z.object({ value: z.number() });

/** A cluster for several take-overs. */
export const takeoverCluster = ({ nodes, seed, watched }: TakeoverOptions): Promise<Cluster> =>
  startCluster({
    ambiguity: LOST_ANSWERS,
    nodes,
    seed,
    watched,
    workload: new URL('../workload.ts', import.meta.url),
  });

/**
 * Measures how long actors of a node that dies or freezes do not answer (default lease settings), and counts its late
 * commits.
 */
export const takeoverOn = (cluster: Cluster, options: TakeoverOptions): Promise<ScenarioReport> =>
  cluster.explained(new Takeover(cluster, options).run());

/** The same on a separate cluster. */
export async function takeover(options: TakeoverOptions): Promise<ScenarioReport> {
  const cluster = await takeoverCluster(options);
  try {
    return await takeoverOn(cluster, options);
  } finally {
    await cluster.destroy();
  }
}

class Takeover {
  readonly #cluster: Cluster;
  readonly #options: TakeoverOptions;
  readonly #timesMs: number[] = [];
  readonly #broken: string[] = [];
  #fenced = 0;

  constructor(cluster: Cluster, options: TakeoverOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  async run(): Promise<ScenarioReport> {
    const { death, rounds, nodes, seed, bars, watched } = this.#options;
    const random = seeded(seed);
    for (let round = 0; round < rounds; round += 1) await this.#round(Math.floor(random() * nodes), random);
    const title = `take-over after ${death} of the owner, ${watched ? 'peers watch each other' : 'by the lease alone'}`;
    return {
      title,
      seed,
      lines: [
        ...timeLines(`${death} to answer`, this.#timesMs),
        ...(death === 'freeze' ? [`commits of thawed nodes: ${this.#fenced} refused`] : []),
      ],
      broken: [
        ...this.#broken,
        ...(await this.#cluster.livenessBroken()),
        ...barBroken(title, this.#timesMs, 0.5, bars.p50Ms),
        ...barBroken(title, this.#timesMs, 0.99, bars.p99Ms),
      ],
    };
  }

  async #round(victim: number, random: () => number): Promise<void> {
    const { actors, death, pauseMs } = this.#options;
    const held = (await this.#cluster.settled('before the owner dies')).get(`node-${victim}`) ?? new Map();
    const addresses = Array.from({ length: actors }, () => freshIn('ticker', held));
    await Promise.all(addresses.map((address) => this.#expect(address, 1)));
    // Under load, so that the owner dies in the middle of turns and commits.
    const load = new Load(
      this.#cluster,
      Array.from({ length: 8 }, () => freshIn('ticker', held)),
      pauseMs,
    );
    await load.has(50 + Math.floor(random() * 100));
    const before = await this.#cluster.local(victim);
    const diedAt = performance.now();
    if (death === 'freeze') this.#cluster.freeze(victim);
    else await this.#cluster.kill(victim);
    const started = death === 'restart' ? this.#cluster.start(victim) : null;
    await Promise.all(addresses.map((address) => this.#expect(address, 2).then(() => this.#took(diedAt))));
    await started;
    if (death === 'freeze') await this.#thaw(victim, before?.fenced ?? 0);
    if (death === 'kill') await this.#cluster.start(victim);
    this.#broken.push(...(await load.end()));
    const seen = await Promise.all(this.#cluster.names.map((name) => this.#cluster.local(name)));
    this.#broken.push(...committersOf(seen.filter((local) => local !== null)));
  }

  #took(sinceMs: number): void {
    this.#timesMs.push(performance.now() - sinceMs);
  }

  /** The node resumes in the middle of its work, with leases that expired long ago. */
  async #thaw(victim: number, fencedBefore: number): Promise<void> {
    this.#cluster.thaw(victim);
    await this.#cluster.settled('after the thaw');
    const local = await this.#cluster.waitUntil('the thawed node to answer', () => this.#cluster.local(victim));
    this.#fenced += local.fenced - fencedBefore;
  }

  async #expect(address: Address, value: number): Promise<void> {
    const answer = Ticked.parse(await this.#cluster.client.ask(address, 'Tick', {}, { tryMs: 30_000 }));
    if (answer.value !== value) this.#broken.push(`${address} answered ${answer.value} where ${value} was due`);
  }
}

/** Asks each actor, one call after the other, until the end; each answer must be the next number. */
class Load {
  readonly #cluster: Cluster;
  readonly #loops: Promise<string[]>[];
  readonly #pauseMs: number;
  #answered = 0;
  #ending = false;

  constructor(cluster: Cluster, addresses: readonly Address[], pauseMs: number) {
    this.#cluster = cluster;
    this.#pauseMs = pauseMs;
    this.#loops = addresses.map((address) => this.#loop(address));
  }

  async has(answers: number): Promise<void> {
    await this.#cluster.waitUntil(`${answers} answers under load`, () => this.#answered >= answers);
  }

  async end(): Promise<string[]> {
    this.#ending = true;
    return (await Promise.all(this.#loops)).flat();
  }

  async #loop(address: Address): Promise<string[]> {
    for (let value = 1; !this.#ending; value += 1) {
      const answer = Ticked.parse(await this.#cluster.client.ask(address, 'Tick', {}, { tryMs: 30_000 }));
      if (answer.value !== value) return [`${address} answered ${answer.value} where ${value} was due`];
      this.#answered += 1;
      if (this.#pauseMs > 0) await pause(this.#pauseMs);
    }
    return [];
  }
}
