import { setTimeout as pause } from 'node:timers/promises';
import type { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';

/**
 * Runs clients in lanes: each runs one kind after the other while nodes are killed. The first failure aborts the rest.
 * Returns the runs, and the result of the killer.
 */
export async function workUnderKills<Kind, Seen, Killed>(parts: {
  readonly atATime: number;
  readonly kinds: readonly Kind[];
  readonly run: (kind: Kind) => Promise<Seen>;
  readonly killer: () => Promise<Killed>;
  readonly abort: AbortController;
}): Promise<{ readonly seen: Seen[]; readonly killed: Killed }> {
  const { atATime, kinds, run, killer, abort } = parts;
  let isKilling = true;
  const killing = async (): Promise<Killed> => {
    const killed = await killer();
    isKilling = false;
    return killed;
  };
  const lane = async (first: number): Promise<Seen[]> => {
    const seen: Seen[] = [];
    for (let turn = first; isKilling; turn += 1) {
      const kind = kinds[turn % kinds.length];
      if (kind === undefined) throw new Error('there is nothing to run');
      seen.push(await run(kind));
    }
    return seen;
  };
  const lanes = Promise.all(Array.from({ length: atATime }, (_, first) => lane(first)));
  const work = Promise.all([killing(), lanes]);
  work.catch((error: unknown) => abort.abort(error));
  const [killed, seen] = await work;
  return { seen: seen.flat(), killed };
}

/** Adds to a failure the seed of the run and the last log lines of the node. */
export async function explained<T>(node: NodeProcess, seed: number, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    // The last output of a node that ended arrives a moment later.
    await pause(200);
    throw new Error(`seed ${seed}: ${text}\n${node.log.slice(-4_000)}`, { cause: error });
  }
}

/** The entries that remain at the time limit; empty when there are none. */
export async function untilEmpty(look: () => Promise<string[]>, timeoutMs: number): Promise<string[]> {
  const isEmpty = async () => (await look()).length === 0;
  await waitUntil('nothing to be left', isEmpty, timeoutMs).catch(() => {});
  return look();
}
