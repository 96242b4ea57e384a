import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { FailoverPeer, Work } from './peer.ts';
import { readTrail, stepsBegun, type Trail } from './trail.ts';

/** When workers are killed, ms since the start of the runs. */
export type Kills = { readonly kind: 'none' | 'once' | 'every'; readonly ms: number };

export interface Killed extends Trail {
  readonly tookMs: number;
  /** Steps begun at each kill. */
  readonly begunAt: readonly number[];
}

/** Measures all runs once while workers are killed. */
export async function measure(peer: FailoverPeer, workers: number, work: Work, kills: Kills): Promise<Killed> {
  const trail = join(tmpdir(), `svc-bench-trail-${randomUUID()}`);
  await writeFile(trail, '');
  await peer.settle();
  const ended = new AbortController();
  try {
    const killing = killWorkers(peer, workers, trail, kills, ended.signal);
    const tookMs = await Promise.race([peer.run(work, trail), failureOf(killing)]);
    ended.abort();
    const begunAt = await killing;
    return { tookMs, begunAt, ...(await readTrail(trail, work)) };
  } finally {
    ended.abort();
    await rm(trail, { force: true });
  }
}

/** Kills one worker after the other in turn until the runs have ended. */
async function killWorkers(
  peer: FailoverPeer,
  workers: number,
  trail: string,
  { kind, ms }: Kills,
  ended: AbortSignal,
): Promise<number[]> {
  const begunAt: number[] = [];
  if (kind === 'none') return begunAt;
  const startedAt = performance.now();
  for (let nth = 1; kind === 'every' || nth === 1; nth += 1) {
    await pause(Math.max(1, startedAt + nth * ms - performance.now()), undefined, { signal: ended }).catch(() => {});
    if (ended.aborted) break;
    begunAt.push(await stepsBegun(trail));
    await peer.replace(nth % workers);
  }
  return begunAt;
}

/** Settles only when the work fails. */
function failureOf(work: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => {
    work.catch(reject);
  });
}
