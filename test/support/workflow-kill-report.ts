import { LIMITS } from '../../actors/workflow/limits.ts';
import { percentile } from '../kill/recovery.ts';
import type { WorkflowLogged } from './workflow-kill-calls.ts';
import type { WorkflowKillOutcome } from './workflow-kill-chaos.ts';
import { executionsOf } from './workflow-kill-checks.ts';
import { counted } from './workflow-kill-marks.ts';
import type { RunSeen } from './workflow-kill-run.ts';

/** Lines of figures: what the kills hit, how often a run was hit, what was repeated. */
export function workflowKillLines(outcome: WorkflowKillOutcome): string[] {
  const { runs, kills, killsInStartup, slowStarts, waits, commands, containers, sweptAfterMs } = outcome;
  const hits = runs.flatMap((run) => executionsOf(run).flatMap(({ log }) => hitKinds(log, kills)));
  const hitCounts = counted(runs.map((run) => String(Math.min(4, killsOf(run, kills).length))));
  const repeats = runs.flatMap(executionsOf).flatMap(({ log }) => log.filter(isRepeat)).length;
  const commandRuns = [...commands.values()].reduce((sum, count) => sum + count, 0);
  const states = [...counted(hits)].sort(([, a], [, b]) => b - a);
  return [
    `${kills.length} kills, ${killsInStartup} of them while the node started, ${slowStarts} starts took over 20 s, ${waits} kills waited for a run that had been hit ${LIMITS.inDoubtRepeats} times; ${runs.length} runs of ${outcome.unkilled.size} workflows`,
    `commands run ${commandRuns}, containers started ${containers.length}, repeats said in the log ${repeats}`,
    `containers of dead nodes swept ${Math.round(sweptAfterMs)} ms after the last run`,
    `kills that hit a run: ${['0', '1', '2', '3', '4'].map((n) => `${n === '4' ? '4 or more' : n}: ${hitCounts.get(n) ?? 0}`).join(', ')}`,
    'where runs were when a kill hit them',
    ...states.map(
      ([kind, count]) => `${kind.padStart(22)} ${String(count).padStart(5)} ${'#'.repeat(Math.min(40, count))}`,
    ),
    ...runTimes(outcome),
  ];
}

/** From the last kill that hit a run to its end. */
export const sinceLastKill = ({ runs, kills }: WorkflowKillOutcome): number[] =>
  runs.flatMap((run) => {
    const last = killsOf(run, kills).at(-1);
    return last === undefined ? [] : [run.endedAtMs - last];
  });

function runTimes({ unkilled, runs }: WorkflowKillOutcome): string[] {
  return [...unkilled].map(([name, alone]) => {
    const times = runs.filter(({ of }) => of.name === name).map((run) => run.endedAtMs - run.startedAtMs);
    const figure = (part: number): string => `${Math.round(percentile(times, part))} ms`;
    const unkilledMs = alone.endedAtMs - alone.startedAtMs;
    return `${name}: unkilled ${unkilledMs} ms; under kills n ${times.length}, p50 ${figure(0.5)}, longest ${figure(1)}`;
  });
}

const killsOf = ({ startedAtMs, endedAtMs }: RunSeen, kills: readonly number[]): number[] =>
  kills.filter((at) => at >= startedAtMs && at <= endedAtMs);

const isRepeat = ({ event_type }: WorkflowLogged): boolean => event_type === 'WorkflowStepRepeated';

/** Kind of the state an execution was in, for each kill between its first event and its last. */
function hitKinds(log: readonly WorkflowLogged[], kills: readonly number[]): string[] {
  const [first, last] = [log[0], log.at(-1)].map((event) => Date.parse(event?.recorded_at ?? ''));
  return kills
    .filter((at) => first !== undefined && last !== undefined && at >= first && at <= last)
    .map((at) => {
      const seen = log.filter(({ recorded_at }) => Date.parse(recorded_at) <= at);
      const entered = seen.findLast(({ event_type }) => event_type === 'WorkflowStateEntered');
      return String(entered?.payload.kind ?? 'before the first state');
    });
}
