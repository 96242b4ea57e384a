import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { addressOf } from '../../../runtime/address.ts';
import { startCluster } from '../../support/cluster/cluster.ts';
import { TENANT } from '../addresses.ts';
import type { ScenarioReport } from '../report.ts';

export interface ScaleOptions {
  /** Numbers of worker processes, one measurement each. */
  readonly nodes: readonly number[];
  readonly forMs: number;
  /** Concurrent asks of each of two client processes. */
  readonly inFlight: number;
  readonly seed: number;
}

const ACTORS = 1_000;

/** Asks answered per second by a growing number of worker processes. */
export async function scale(options: ScaleOptions): Promise<ScenarioReport> {
  const lines: string[] = [];
  const broken: string[] = [];
  for (const nodes of options.nodes) {
    const { perSecond, lost, unfinished } = await measure(nodes, options);
    const what = `${nodes} worker processes`;
    lines.push(`${what}: ${Math.round(perSecond)} asks/s`);
    if (lost > 0) broken.push(`${what}: ${lost} answered asks are missing from the actors`);
    broken.push(...unfinished.map((sentence) => `${what}: ${sentence}`));
  }
  const cores = availableParallelism();
  return {
    title: `asks by worker processes on ${cores} cores, shared with Redis (appendfsync always) and two clients`,
    seed: options.seed,
    lines,
    broken,
  };
}

interface Measured {
  readonly perSecond: number;
  readonly lost: number;
  /** Actors whose work was still under way some time after the load. */
  readonly unfinished: readonly string[];
}

async function measure(nodes: number, options: ScaleOptions): Promise<Measured> {
  const { seed, forMs, inFlight } = options;
  const workload = new URL('../workload.ts', import.meta.url);
  const cluster = await startCluster({ nodes, adapters: 2, seed, workload });
  try {
    await cluster.settled('before the load');
    const prefix = randomUUID();
    const addresses = Array.from({ length: ACTORS }, (_, index) => addressOf('ticker', TENANT, `${prefix}-${index}`));
    // The clients generate the load themselves: single calls over HTTP would measure HTTP.
    const load = (ms: number) => cluster.client.load(addresses, 'Tick', {}, { forMs: ms, inFlight });
    const warm = await load(Math.min(1_000, forMs));
    const begun = performance.now();
    const answered = await load(forMs);
    const perSecond = (answered / (performance.now() - begun)) * 1_000;
    const sum = await cluster.client.sum(addresses, 'value');
    const unfinished = await cluster.livenessBroken();
    return { perSecond, lost: Math.max(0, warm + answered - sum), unfinished };
  } finally {
    await cluster.destroy();
  }
}
