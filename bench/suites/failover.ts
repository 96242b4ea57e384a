import { type Contestant, contestants, type Form } from '../failover/contestants.ts';
import { type Killed, type Kills, measure } from '../failover/measure.ts';
import type { FailoverPeer, Work } from '../failover/peer.ts';
import { type RestatePackages, restatePackages } from '../failover/restate-packages.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const RUNS = 100;
const STEPS = 20;
const BAR_MS = 1_000;
const WARM_UP: Work = { runs: RUNS, steps: 2, stepMs: 10 };

/** One form of one contestant in one round. */
interface Result {
  readonly contestant: Contestant;
  readonly form: Form;
  readonly unkilledMs: number;
  readonly killed: Killed;
}

/**
 * The cost of a failure: runs of effect steps while workers are killed with -9 and replaced at once, compared with the
 * same runs without kills just before. Fresh servers each round; peers take turns so that a noisy minute hits all of them.
 */
export async function failover(plan: Plan, appendfsync: 'always' | 'everysec'): Promise<Section> {
  const restate = await restatePackages().catch((error: unknown) => {
    console.error(`RESTATE IS OMITTED: it could not be installed: ${String(error)}`);
    return null;
  });
  const small = plan.repetitions < 3;
  const list = contestants(appendfsync, restate, small);
  const results: Result[] = [];
  const failures: string[] = [];
  for (let round = 0; round < plan.repetitions; round += 1) {
    for (const contestant of list) {
      if (contestant.once && round > 0) continue;
      try {
        results.push(...(await roundOf(contestant)));
      } catch (thrown) {
        if (contestant.name === 'svc') throw thrown;
        failures.push(
          `**${contestant.name}, ${contestant.workers} workers, failed in round ${round + 1}**: ${String(thrown)}`,
        );
      }
    }
  }
  const text = [textOf(list, results, appendfsync, restate), ...failures].join('\n\n');
  return { title: 'Failover: runs of steps while workers die', text };
}

async function roundOf(contestant: Contestant): Promise<Result[]> {
  const peer = await contestant.start();
  try {
    await measure(peer, contestant.workers, WARM_UP, { kind: 'none', ms: 0 });
    const unkilled = new Map<number, number>();
    const results: Result[] = [];
    for (const form of contestant.forms) {
      const unkilledMs = unkilled.get(form.stepMs) ?? (await unkilledRun(peer, contestant, form.stepMs));
      unkilled.set(form.stepMs, unkilledMs);
      const kills: Kills = form.kills === 'middle' ? { kind: 'once', ms: unkilledMs / 2 } : form.kills;
      const killed = await measure(peer, contestant.workers, workOf(form.stepMs), kills);
      if (killed.lost > 0) throw new Error(`${contestant.name}: ${killed.lost} steps were lost`);
      results.push({ contestant, form, unkilledMs, killed });
    }
    return results;
  } finally {
    await peer.stop();
  }
}

async function unkilledRun(peer: FailoverPeer, { name, workers }: Contestant, stepMs: number): Promise<number> {
  const { tookMs, again, lost } = await measure(peer, workers, workOf(stepMs), { kind: 'none', ms: 0 });
  if (again + lost > 0) throw new Error(`${name}: ${again} steps begun again and ${lost} lost without a kill`);
  return tookMs;
}

const workOf = (stepMs: number): Work => ({ runs: RUNS, steps: STEPS, stepMs });

function textOf(
  list: readonly Contestant[],
  results: readonly Result[],
  appendfsync: string,
  restate: RestatePackages | null,
): string {
  const rows = list.flatMap((contestant) =>
    contestant.forms.flatMap((form) => {
      const own = results.filter((one) => one.contestant === contestant && one.form === form);
      return own.length === 0 ? [] : [rowOf(contestant, form, own)];
    }),
  );
  const head = ['peer', 'workers', 'step ms', 'kill -9', 'unkilled ms', 'killed ms', 'over ms', 'low–high'];
  return [
    `${RUNS} runs of ${STEPS} steps, all started at once. A worker is killed and a new one started at once, at half of the time that the peer took unkilled just before, at 1 s, or each 2 s in turn until all runs have ended; this project’s own target is at most ${whole(BAR_MS)} ms over the unkilled.`,
    table([...head, 'steps begun at the kills', 'begun again', 'silent repeats', 'lost'], rows),
    [
      `Redis: appendfsync ${appendfsync} for svc and BullMQ. Restate: ${restate === null ? '**omitted, it could not be installed**' : `${restate.versions}, its default log (fsync on)`}.`,
      'A step is an effect (svc), a part of the job of its run (BullMQ, progress kept in the job), a `ctx.run` of a workflow (Restate). Svc and BullMQ take 128 at a time, spread over the workers.',
      'BullMQ tuned: lock 1 s renewed each 0.3 s, stalled check each 0.5 s, 5 stalls allowed (any number where a worker is killed each 2 s: 5 were too few). A silent repeat is a step begun twice under one attempt number; Restate gives steps no number.',
      'A worker of svc is a whole node (REST, gRPC, cluster port); those of the peers do nothing else.',
    ].join('\n'),
  ].join('\n\n');
}

function rowOf({ name, workers }: Contestant, { kills, stepMs }: Form, results: readonly Result[]): string[] {
  const overs = results.map(({ killed, unkilledMs }) => killed.tookMs - unkilledMs);
  const of = (value: (killed: Killed) => number): string => range(results.map(({ killed }) => value(killed)));
  const silent = results.map(({ killed }) => killed.silent);
  return [
    name,
    `${workers}`,
    `${stepMs}`,
    kills === 'middle' ? 'in the middle' : `${kills.kind === 'every' ? 'each' : 'at'} ${whole(kills.ms)} ms`,
    whole(median(results.map(({ unkilledMs }) => unkilledMs))),
    whole(median(results.map(({ killed }) => killed.tookMs))),
    results.every(({ killed }) => killed.begunAt.length === 0) ? 'ended before' : `**${whole(median(overs))}**`,
    `${whole(Math.min(...overs))}–${whole(Math.max(...overs))}`,
    results.map(({ killed }) => killed.begunAt.join(', ')).join('; '),
    of(({ again }) => again),
    silent.some((count) => count === null) ? 'not numbered' : range(silent.map((count) => count ?? 0)),
    of(({ lost }) => lost),
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function range(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? `${low}` : `${low}–${high}`;
}
