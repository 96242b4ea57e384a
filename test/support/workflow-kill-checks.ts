import { isDeepStrictEqual } from 'node:util';
import type { WorkflowLogged, WorkflowSeen } from './workflow-kill-calls.ts';
import type { WorkflowKillOutcome } from './workflow-kill-chaos.ts';
import { counted } from './workflow-kill-marks.ts';
import type { RunSeen } from './workflow-kill-run.ts';

interface Execution {
  readonly end: WorkflowSeen;
  readonly log: readonly WorkflowLogged[];
}

const ENDS = new Set(['WorkflowExecutionCompleted', 'WorkflowExecutionFailed', 'WorkflowExecutionCancelled']);

/** Every broken promise, each a sentence. */
export function brokenIn(outcome: WorkflowKillOutcome): string[] {
  const { unkilled, runs, commands, containers, listed, containersLeft, processesLeft } = outcome;
  const all = [...unkilled.values(), ...runs].flatMap(executionsOf);
  const marked = markedStates([...unkilled.values()].flatMap(executionsOf), commands);
  const startsOf = counted(containers.map(({ executionId }) => executionId));
  const twice = [...counted(containers.map(({ effectId }) => effectId))].filter(([, starts]) => starts > 1);
  return [
    ...runs.flatMap((run) => differences(run, unkilled.get(run.of.name))),
    ...all.flatMap(brokenLog),
    ...all.flatMap((execution) => brokenCommands(execution, marked, commands)),
    ...all.flatMap((execution) => brokenContainers(execution, startsOf)),
    ...twice.map(([effectId, starts]) => `the container of effect ${effectId} was started ${starts} times`),
    ...(listed === all.length ? [] : [`the node lists ${listed} runs, the clients know ${all.length}`]),
    ...outcome.unfinished,
    ...containersLeft.map((one) => `a container is left: ${one}`),
    ...processesLeft.map((one) => `a process is left: ${one}`),
  ];
}

export const executionsOf = ({ end, log, below }: RunSeen): Execution[] => [{ end, log }, ...below];

function differences(run: RunSeen, unkilled: RunSeen | undefined): string[] {
  if (unkilled === undefined) return [`${run.of.name} has no unkilled run to be compared with`];
  const shown = (seen: RunSeen) => executionsOf(seen).map(({ end }) => shape(end, seen));
  const [mine, expected] = [shown(run), shown(unkilled)];
  if (isDeepStrictEqual(mine, expected)) return [];
  const id = run.end.execution_id;
  return [`${run.of.name} ${id} ended as ${JSON.stringify(mine)}, unkilled as ${JSON.stringify(expected)}`];
}

const shape = ({ workflow_name, status, reason, current_state, blackboard }: WorkflowSeen, { of }: RunSeen) => ({
  ...{ workflow_name, status, reason, current_state },
  blackboard: of.normalise(blackboard),
});

/** Events are numbered without a gap, and only the last one ends the run. */
function brokenLog({ end, log }: Execution): string[] {
  const gap = log.findIndex(({ sequence }, index) => sequence !== index + 1);
  const ends = log.filter(({ event_type }) => ENDS.has(event_type)).length;
  const sound = gap === -1 && ends === 1 && ENDS.has(log.at(-1)?.event_type ?? '');
  return sound ? [] : [`${nameOf(end)} has a log with a gap at ${gap} or ${ends} ends`];
}

/** `workflow state` whose commands write to the journal. */
function markedStates(unkilled: readonly Execution[], commands: ReadonlyMap<string, number>): ReadonlySet<string> {
  const states = unkilled.flatMap(({ end, log }) =>
    [...entries(log).keys()]
      .filter((state) => commands.has(`${end.execution_id} ${state}`))
      .map((state) => `${end.workflow_name} ${state}`),
  );
  return new Set(states);
}

const entries = (log: readonly WorkflowLogged[]) => statesOf(log, 'WorkflowStateEntered');

const statesOf = (log: readonly WorkflowLogged[], type: string): Map<string, number> =>
  counted(log.filter(({ event_type }) => event_type === type).map(({ state_name }) => state_name ?? ''));

/** A command ran once for each entry of its state, and again only where the log says that it may have been repeated. */
function brokenCommands(
  { end, log }: Execution,
  marked: ReadonlySet<string>,
  commands: ReadonlyMap<string, number>,
): string[] {
  const repeated = statesOf(log, 'WorkflowStepRepeated');
  return [...entries(log)].flatMap(([state, entered]) => {
    if (!marked.has(`${end.workflow_name} ${state}`)) return [];
    const ran = commands.get(`${end.execution_id} ${state}`) ?? 0;
    const said = repeated.get(state) ?? 0;
    if (ran >= entered && ran <= entered + said) return [];
    return [
      `${nameOf(end)}: the command of ${state} ran ${ran} times in ${entered} entries, ${said} repeats were said`,
    ];
  });
}

/** The engine started as many containers as the log says; each that ended had been started. */
function brokenContainers({ end, log }: Execution, startsOf: ReadonlyMap<string, number>): string[] {
  const said = log.filter(({ event_type }) => event_type === 'ContainerRunStarted').length;
  const completed = log.filter(({ event_type }) => event_type === 'ContainerRunCompleted').length;
  const starts = startsOf.get(end.execution_id) ?? 0;
  if (starts >= completed && starts <= said) return [];
  return [`${nameOf(end)}: ${starts} containers were started, the log says ${said} and ${completed} completed`];
}

const nameOf = ({ workflow_name, execution_id }: WorkflowSeen): string => `${workflow_name} ${execution_id}`;
