import type { WorkflowExecutionStatus } from '../../../clients/typescript/gen/operations.ts';
import type { RunEvent } from '../../api/run-events.ts';
import { useFilters } from '../../app/use-filters.ts';
import { Differences } from '../../parts/differences.tsx';
import { jsonText, plainLine, plainText } from '../../parts/format.ts';
import { Empty } from '../../parts/notice.tsx';

interface Step {
  readonly seq: number;
  readonly state: string;
  readonly outputs: Readonly<Record<string, unknown>>;
}

/** Outputs of states after each state that ended, from the events. */
function stepsOf(events: readonly RunEvent[]): Step[] {
  let outputs: Readonly<Record<string, unknown>> = {};
  return events.flatMap(({ seq, name, payload }) => {
    if (name !== 'WorkflowStateExited' || typeof payload.state_name !== 'string') return [];
    outputs = { ...outputs, [payload.state_name]: payload.output };
    return [{ seq, state: payload.state_name, outputs }];
  });
}

interface BlackboardProps {
  readonly run: WorkflowExecutionStatus;
  readonly events: readonly RunEvent[];
}

/** What the states of the run left, at any step of it, with what the step changed. The step is in the address. */
export function Blackboard({ run, events }: BlackboardProps) {
  const [{ step = '' }, setFilters] = useFilters();
  const steps = stepsOf(events);
  if (steps.length === 0) return <Empty title="No state has ended yet, so nothing was written." />;
  const chosen = Number(step);
  const at = step !== '' && chosen >= 1 && chosen <= steps.length ? chosen - 1 : steps.length - 1;
  const here = steps[at];
  const before = steps[at - 1]?.outputs ?? {};
  return (
    <>
      <div className="slider">
        <label htmlFor="step">
          After state {at + 1} of {steps.length}: <b>{plainLine(here?.state ?? '')}</b> (event {here?.seq})
        </label>
        <input
          id="step"
          type="range"
          min={1}
          max={steps.length}
          value={at + 1}
          onChange={(event) => setFilters({ step: event.target.value }, true)}
        />
      </div>
      <h2>What this state changed</h2>
      <Differences before={jsonText(before)} after={jsonText(here?.outputs)} label="Changes of this state" />
      <h2>Blackboard now</h2>
      <pre tabIndex={0}>{plainText(jsonText(run.blackboard))}</pre>
    </>
  );
}
