import { SvcError } from '../../runtime/errors.ts';
import { conveneJudges, refuseTooLong } from './convene.ts';
import { MODEL_RETRY } from './effects.ts';
import { acceptIteration, rejectIteration } from './iteration.ts';
import { judgeInput, judgePrompt } from './judge-input.ts';
import type { ExecutionTurn } from './messages.ts';
import { type ModelCheck, needsJudge, type PanelCheck, type ResultValidator } from './plan.ts';
import { principalPart } from './principal.ts';
import type { ExecutionState, Judging, RunningExecution, Verdict } from './state.ts';
import { judgeTimeoutMs } from './time-left.ts';
import { nameOf, validate } from './validators/validate.ts';
import type { IterationResult } from './validators/verdict.ts';

/** A result, and the verdicts of the validators it has been through. */
export interface Judged {
  readonly result: IterationResult;
  readonly verdicts: readonly Verdict[];
}

/**
 * Takes a result through the validators that are left, in order: cheap ones here and now; one with a judge is asked, and
 * its word takes the result on. A judge is asked once an iteration (original-facts 6.1).
 */
export function takeThrough(running: RunningExecution, judged: Judged, turn: ExecutionTurn): ExecutionState {
  const { validators } = running.plan;
  const { result, verdicts: before } = judged;
  const isRejected = before.at(-1)?.passed === false;
  const verdicts = isRejected ? before : [...before, ...validate(validators.slice(before.length), result)];
  const last = verdicts.at(-1);
  if (last?.passed === false) {
    const failure = { error_type: 'validation_failed', message: `${last.validator}: ${last.reason}` };
    const { stdout: output, exit_code } = result;
    return rejectIteration(running, { ...failure, output, exit_code, verdicts }, turn);
  }
  const judge = validators.slice(verdicts.length).find(needsJudge);
  if (judge === undefined) return acceptIteration(running, result.stdout, verdicts, turn);
  return ask(running, judge, { result, verdicts }, turn);
}

/** The validator that is being asked, when `isAsked` says that the message comes from it; else the message is late. */
export function askedJudge(
  state: ExecutionState,
  isAsked: (by: Judging['by']) => boolean,
): { readonly running: RunningExecution; readonly judging: Judging; readonly check: ResultValidator } | null {
  if (state.status !== 'running') return null;
  const { judging } = state.current;
  if (judging === undefined || !isAsked(judging.by)) return null;
  const check = state.plan.validators[judging.verdicts.length];
  return check === undefined ? null : { running: state, judging, check };
}

/** What the judge said, or why it said nothing; the validators after it go on. */
export function settle(
  running: RunningExecution,
  judged: Judged,
  verdict: Verdict,
  turn: ExecutionTurn,
): ExecutionState {
  return takeThrough(running, { result: judged.result, verdicts: [...judged.verdicts, verdict] }, turn);
}

function ask(
  running: RunningExecution,
  check: PanelCheck | ModelCheck,
  judged: Judged,
  turn: ExecutionTurn,
): ExecutionState {
  let by: Judging['by'];
  try {
    by =
      check.type === 'semantic_prompt' ? askModel(running, check, judged, turn) : convene(running, check, judged, turn);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code === 'internal') throw thrown;
    const verdict: Verdict = { validator: nameOf(check), passed: false, score: 0, reason: thrown.message };
    return settle(running, judged, verdict, turn);
  }
  const judging: Judging = { by, result: judged.result, verdicts: [...judged.verdicts] };
  return { ...running, current: { ...running.current, judging } };
}

function convene(running: RunningExecution, check: PanelCheck, { result }: Judged, turn: ExecutionTurn): Judging['by'] {
  const panelId = conveneJudges(running, check, judgeInput(running, check, result), turn);
  return { kind: 'panel', panel_id: panelId, judges: check.judges.length };
}

function askModel(
  running: RunningExecution,
  check: ModelCheck,
  { result }: Judged,
  turn: ExecutionTurn,
): Judging['by'] {
  const prompt = judgePrompt(running, check, result);
  refuseTooLong(prompt);
  const effectId = turn.effect({
    kind: 'model.generate',
    mode: 'repeatable',
    input: {
      model: check.model,
      messages: [{ role: 'user', content: prompt }],
      iteration: running.iteration_count,
      ...principalPart(running),
    },
    replyAs: 'ModelJudged',
    context: { iteration: running.iteration_count },
    retry: MODEL_RETRY,
    timeoutMs: judgeTimeoutMs(running, check.timeout_ms, turn.now),
  });
  return { kind: 'model', effect_id: effectId };
}
