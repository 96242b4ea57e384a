import { type Cost, costOf } from '../costs.ts';
import { type Measured, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type Contestant, type Field, field } from '../workflows/contestants.ts';

const IN_FLIGHT = [1, 64, 256];
/** Levels at which the targets are set. */
const BAR_IN_FLIGHT = 64;
/** Time for a process of Node.js to compile its code; the same for all. */
const WARM_UP_MS = 4_000;

/** Results by name and number in flight, one a round. */
type Runs = Map<string, (Measured & { readonly cost?: Cost | undefined })[]>;
const keyOf = (name: string, inFlight: number): string => `${name}|${inFlight}`;

/**
 * A workflow of five steps, started and awaited, beside peers that do the same durably. Each has fresh servers in each
 * round, and worker and client as processes of their own; they take turns so that a noisy minute hits all of them.
 */
export async function workflows(plan: Plan): Promise<Section> {
  const found = await field();
  const small = plan.repetitions < 3;
  const levels = small ? [1, BAR_IN_FLIGHT] : IN_FLIGHT;
  // Ten contestants, three levels, three rounds: seven minutes.
  const times = small ? { warmUpMs: 1_000, runMs: 1_000 } : { warmUpMs: 1_000, runMs: 2_000 };
  const runs: Runs = new Map();
  const failures: string[] = [];
  for (let round = 0; round < plan.repetitions; round += 1) {
    for (const contestant of found.contestants) {
      try {
        await roundOf(contestant, levels, times, runs);
      } catch (thrown) {
        if (contestant.name.startsWith('svc')) throw thrown;
        failures.push(`**${contestant.name} failed in round ${round + 1}**: ${String(thrown).slice(0, 500)}`);
      }
    }
  }
  const text = [textOf(found, levels, runs), ...failures].join('\n\n');
  return { title: 'Workflows of five steps, started and awaited', text };
}

async function roundOf(
  contestant: Contestant,
  levels: readonly number[],
  times: { readonly warmUpMs: number; readonly runMs: number },
  runs: Runs,
): Promise<void> {
  const peer = await contestant.start();
  try {
    // The level of the target runs first, and warms code, connections and pools for the others.
    await peer.measure({ inFlight: BAR_IN_FLIGHT, warmUpMs: 0, runMs: WARM_UP_MS });
    for (const inFlight of levels.filter((level) => level <= (contestant.mostInFlight ?? level))) {
      const before = await peer.meter?.used();
      const measured = await peer.measure({ inFlight, ...times });
      const after = await peer.meter?.used();
      const cost = before === undefined || after === undefined ? undefined : costOf(before, after, measured.calls);
      const key = keyOf(contestant.name, inFlight);
      runs.set(key, [...(runs.get(key) ?? []), { ...measured, cost }]);
    }
  } finally {
    await peer.stop();
  }
}

function textOf({ contestants, versions, omitted }: Field, levels: readonly number[], runs: Runs): string {
  const rateOf = (name: string, inFlight: number): number => {
    const list = runs.get(keyOf(name, inFlight)) ?? [];
    return list.length === 0 ? 0 : medianOf(list).perSecond;
  };
  const bestAt = (inFlight: number): number =>
    Math.max(0, ...contestants.filter((one) => one.sets === true).map((one) => rateOf(one.name, inFlight)));
  const times = (value: number, inFlight: number): string =>
    bestAt(inFlight) === 0 ? '' : (value / bestAt(inFlight)).toFixed(2);
  const rows = contestants.flatMap((one) =>
    levels.map((inFlight) => {
      const list = runs.get(keyOf(one.name, inFlight)) ?? [];
      if (list.length === 0) return [one.name, `${inFlight}`, 'not measured', '', '', '', '', '', '', '', ''];
      const median = medianOf(list);
      return [
        one.name,
        `${inFlight}`,
        whole(median.perSecond),
        `${whole(median.low)}–${whole(median.high)}`,
        median.p50Ms.toFixed(1),
        median.p99Ms.toFixed(1),
        times(median.perSecond, inFlight),
        barText(one, inFlight, median.perSecond / bestAt(inFlight)),
        ...costText(median.cost),
      ];
    }),
  );
  const head = [
    'peer',
    'in flight',
    'workflows/s',
    'low–high',
    'p50 ms',
    'p99 ms',
    'of the best',
    `bar at ${BAR_IN_FLIGHT}`,
    'CPU µs: Redis + worker + client',
    'Redis commands',
    'bytes in / out / AOF',
  ];
  return [
    table(head, rows),
    [
      `The best is the quickest of Restate, DBOS and Temporal at as many in flight. ${versions.join('; ')}.`,
      'Pure steps of svc are the built-in command `update_blackboard`, all in one turn. Its effects are System states',
      'whose command is answered at once by a handler in the worker: each is recorded as started by the commit of the turn',
      'that asks for it, and its result is the input of the next commit (mode `once`). “Repeatable” are the same effects in',
      'mode `repeatable`, allowed to run ahead of their commit, as model calls and reading tools are. A step of the peers is',
      'a recorded no-op: `ctx.run`, `runStep`, a local activity, a child job. CPU, commands and bytes are for each workflow.',
      ' Restate and PostgreSQL have their defaults (a write is on disk before it is answered), so',
      '`appendfsync always` is the like of them. What svc keeps in MongoDB beside a node on Redis (lists, ended runs) is',
      'SQLite in memory here; on its embedded store all is on disk. Temporal is not asked for more than 64 at once.',
    ].join('\n'),
    ...omitted,
  ].join('\n\n');
}

/** CPU, commands and bytes for each workflow, warm-up included. */
function costText(cost: Cost | undefined): string[] {
  if (cost === undefined) return ['', '', ''];
  const { redisUs, workerUs, clientUs, commands, bytesIn, bytesOut, aofBytes } = cost;
  return [
    [redisUs, workerUs, clientUs].map(whole).join(' + '),
    commands.toFixed(1),
    [bytesIn, bytesOut, aofBytes].map(whole).join(' / '),
  ];
}

function barText({ bar }: Contestant, inFlight: number, ratio: number): string {
  if (bar === undefined || inFlight !== BAR_IN_FLIGHT || !Number.isFinite(ratio)) return '';
  return `${bar}: ${ratio >= bar ? 'reached' : '**missed**'}`;
}
