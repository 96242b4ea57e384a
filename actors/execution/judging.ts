import { addressOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { Convene } from '../judge-panel/messages.ts';
import { acceptIteration, rejectIteration } from './iteration.ts';
import { judgeInput, judgePrompt } from './judge-input.ts';
import { LIMITS } from './limits.ts';
import type { ExecutionTurn } from './messages.ts';
import { type ModelCheck, needsJudge, type PanelCheck, type ResultValidator } from './plan.ts';
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

/** Throws `failed_precondition` when its judges would be too deep, `payload_too_large` for what no judge can be given. */
function convene(running: RunningExecution, check: PanelCheck, { result }: Judged, turn: ExecutionTurn): Judging['by'] {
  const depth = (running.depth ?? 0) + 1;
  if (depth > LIMITS.judgeDepth) {
    const text = `MaxRecursiveDepthExceeded: its judges would run at depth ${depth}, the deepest is ${LIMITS.judgeDepth}`;
    throw new SvcError('failed_precondition', text);
  }
  const input = judgeInput(running, check, result);
  refuseTooLong(input);
  const { judges, consensus: strategy, min_score: threshold, min_judges_required } = check;
  const timeout_ms = judgeTimeoutMs(running, check.timeout_ms, turn.now);
  const panelId = turn.newId();
  const message: Convene = {
    panel_id: panelId,
    judges: judges.map((agent) => ({ agent, input, weight: 1, timeout_ms })),
    consensus: {
      strategy,
      threshold,
      min_judges_required,
      // The confidence in one judge's word is its own.
      confidence_weighting:
        check.type === 'semantic'
          ? { agreement_factor: 0, self_confidence_factor: 1 }
          : { agreement_factor: 0.7, self_confidence_factor: 0.3 },
      early_stop: false,
    },
    depth,
    notify: { to: turn.self, as: 'PanelWord', context: { iteration: running.iteration_count } },
    ...(running.workflow_execution_id === null ? {} : { workflow_execution_id: running.workflow_execution_id }),
    ...(running.identity === undefined ? {} : { identity: running.identity }),
  };
  turn.tell(addressOf('judge-panel', turn.tenant, panelId), 'Convene', plain(message));
  return { kind: 'panel', panel_id: panelId, judges: judges.length };
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
    },
    replyAs: 'ModelJudged',
    context: { iteration: running.iteration_count },
    retry: { maxAttempts: 4, initialDelayMs: 1_000, maxDelayMs: 30_000 },
    timeoutMs: judgeTimeoutMs(running, check.timeout_ms, turn.now),
  });
  return { kind: 'model', effect_id: effectId };
}

function refuseTooLong(input: string): void {
  const bytes = Buffer.byteLength(input);
  if (bytes <= LIMITS.judgeInputBytes) return;
  const text = `a judge would be given ${bytes} bytes, at most ${LIMITS.judgeInputBytes} are judged`;
  throw new SvcError('payload_too_large', text);
}

/** Optional fields may be present and undefined; JSON has no undefined. */
function plain(convene: Convene): Json {
  const json: Json = JSON.parse(JSON.stringify(convene));
  return json;
}
