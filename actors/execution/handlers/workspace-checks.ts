import { FilesResult, ScriptResult } from '../../../manifests/agent/workspace-checks.ts';
import type { EffectResult } from '../../../runtime/effect.ts';
import { isHopeless } from '../hopeless.ts';
import { abandonIteration } from '../iteration.ts';
import { takeVerdict } from '../judging.ts';
import type { ExecutionTurn } from '../messages.ts';
import { failureOf } from '../outcome.ts';
import { awaited } from '../phase.ts';
import type { ResultValidator } from '../plan.ts';
import type { ExecutionState, Judging, RunningExecution } from '../state.ts';
import { fileComplaint } from '../validators/files.ts';
import type { Complaint } from '../validators/json-schema.ts';
import { nameOf, verdictOn } from '../validators/validate.ts';
import { scriptComplaint } from '../workspace-checks.ts';

/** The files that a validator checks were read, or could not be. A missing file rejects the answer. */
export function FilesRead(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'FilesRead', result.effectId);
  if (found === null) return state;
  const { running, wait } = found;
  const check = checkOf(running, wait.judging);
  if (check?.type !== 'file_regex' && check?.type !== 'file_schema') return state;
  return judged(found.running, { judging: wait.judging, check }, result, turn, (value) => {
    const read = FilesResult.safeParse(value);
    return read.success ? fileComplaint(check, read.data.files, wait.judging.result) : MALFORMED;
  });
}

/** The script of a validator has ended, or could not be started. */
export function ScriptEnded(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'ScriptEnded', result.effectId);
  if (found === null) return state;
  const { running, wait } = found;
  const check = checkOf(running, wait.judging);
  if (check?.type !== 'script') return state;
  return judged(running, { judging: wait.judging, check }, result, turn, (value) => {
    const end = ScriptResult.safeParse(value);
    return end.success ? scriptComplaint(end.data) : MALFORMED;
  });
}

const MALFORMED = 'the result of the validator is malformed';

/** Verdicts are stored by the index of their validator. */
const checkOf = ({ plan }: RunningExecution, { verdicts }: Judging): ResultValidator | undefined =>
  plan.validators[verdicts.length];

/**
 * The verdict on the effect's result. An error that no further iteration can fix ends the run under its code; any other failure
 * of the effect rejects the answer.
 */
function judged(
  running: RunningExecution,
  { judging, check }: { readonly judging: Judging; readonly check: ResultValidator },
  { outcome }: EffectResult,
  turn: ExecutionTurn,
  complaintOf: (value: unknown) => Complaint,
): ExecutionState {
  if (outcome.kind === 'done') return takeVerdict(running, judging, verdictOn(check, complaintOf(outcome.value)), turn);
  const { error_type: code, message } = failureOf(outcome);
  if (isHopeless(code)) {
    const failure = { error_type: code, message: `${nameOf(check)}: ${message}` };
    return abandonIteration(running, failure, { status: 'failed', reason: code }, turn);
  }
  const verdict = {
    validator: nameOf(check),
    passed: false,
    score: 0,
    reason: `it could not be run: ${code}: ${message}`,
  };
  return takeVerdict(running, judging, verdict, turn);
}
