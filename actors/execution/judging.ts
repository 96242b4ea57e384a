import { addressOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type JsonObject, plainJson } from '../../runtime/json.ts';
import type { ReadJudge } from '../judge-panel/judge-output.ts';
import type { Convene, PanelConcluded } from '../judge-panel/messages.ts';
import { keepHead, keepTail } from './bounded-text.ts';
import { MODEL_RETRY } from './effects.ts';
import { judgeTimeoutMs } from './ending.ts';
import { acceptIteration, rejectIteration } from './iteration.ts';
import { LIMITS } from './limits.ts';
import type { ExecutionTurn } from './messages.ts';
import { type AskedCheck, isAsked, type ModelCheck, type PanelCheck } from './plan.ts';
import { renderTask } from './prompt.ts';
import { renderTemplate } from './prompt-template.ts';
import { type ExecutionState, type Judging, principalPart, type RunningExecution, type Verdict } from './state.ts';
import type { IterationResult } from './validators/json-schema.ts';
import { nameOf, validate } from './validators/validate.ts';
import { askFiles, askScript } from './workspace-checks.ts';

/** A result, and the verdicts of the validators it has passed. */
interface Judged {
  readonly result: IterationResult;
  readonly verdicts: readonly Verdict[];
}

/**
 * Runs the remaining validators in order. Those that need only the result are decided here; the first that needs a judge, files
 * or a script requests them, and its verdict continues here. A judge is asked once per iteration (W27).
 */
export function validateFrom(running: RunningExecution, judged: Judged, turn: ExecutionTurn): ExecutionState {
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
  const next = validators.slice(verdicts.length).find(isAsked);
  if (next === undefined) return acceptIteration(running, result.stdout, verdicts, turn);
  return ask(running, next, { result, verdicts }, turn);
}

/** Takes the requested verdict, or the reason why there is none, and continues with the next validators. */
export function takeVerdict(
  running: RunningExecution,
  judged: Judged,
  verdict: Verdict,
  turn: ExecutionTurn,
): ExecutionState {
  return validateFrom(running, { result: judged.result, verdicts: [...judged.verdicts, verdict] }, turn);
}

function ask(running: RunningExecution, check: AskedCheck, judged: Judged, turn: ExecutionTurn): ExecutionState {
  let by: Judging['by'];
  try {
    by = asked(running, check, judged, turn);
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code === 'internal') throw thrown;
    const verdict: Verdict = { validator: nameOf(check), passed: false, score: 0, reason: thrown.message };
    return takeVerdict(running, judged, verdict, turn);
  }
  const judging: Judging = { by, result: judged.result, verdicts: [...judged.verdicts] };
  return { ...running, current: { ...running.current, judging } };
}

function asked(running: RunningExecution, check: AskedCheck, judged: Judged, turn: ExecutionTurn): Judging['by'] {
  switch (check.type) {
    case 'semantic_prompt':
      return askModel(running, check, judged, turn);
    case 'semantic':
    case 'multi_judge':
      return convene(running, check, judged, turn);
    case 'script':
      return askScript(running, check, judged.result, turn);
    default:
      return askFiles(running, check, turn);
  }
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

const STDERR_CHARS = 4 * 1024;

/** Input of a judge agent: JSON with the fields of W27. The output is never cut, so that the judge sees all of it. */
function judgeInput(running: RunningExecution, check: PanelCheck, result: IterationResult): string {
  const input: JsonObject = {
    task: keepHead(renderTask(running, running.iteration_count), LIMITS.judgeTaskChars),
    output: result.stdout,
    criteria: check.criteria,
    generation_evidence: {
      iteration_number: running.iteration_count,
      exit_code: result.exit_code,
      stderr: keepTail(result.stderr, STDERR_CHARS),
    },
    ...(running.tool_history.length === 0
      ? {}
      : { tool_audit_history: running.tool_history.map((call) => ({ ...call })) }),
    validation_context: check.type === 'semantic' ? 'semantic_judge_post_execution' : 'multi_judge_post_execution',
  };
  return JSON.stringify(input);
}

const DEFAULT_PROMPT = `Judge whether the output of an agent does what was asked of it.

What was asked:
{{criteria}}

Exit code: {{exit_code}}
{{#if stderr}}
Error output:
{{stderr}}
{{/if}}

Output:
{{output}}`;

const ANSWER = `Answer with one JSON object and nothing else:
{"score": 0.0 to 1.0, "confidence": 0.0 to 1.0, "reasoning": "what is good, and what must change"}`;

/**
 * Prompt of a model as a judge: the manifest's or the default one, and the format of the answer. The criteria of the object
 * form are the agent's instruction. Throws as `renderTemplate`.
 */
function judgePrompt({ plan }: RunningExecution, { prompt }: ModelCheck, result: IterationResult): string {
  const variables = {
    criteria: plan.instruction,
    output: result.stdout,
    exit_code: result.exit_code ?? 'none',
    stderr: keepTail(result.stderr, STDERR_CHARS),
  };
  return `${renderTemplate(prompt ?? DEFAULT_PROMPT, variables, LIMITS.modelPromptBytes)}\n\n${ANSWER}`;
}

/** Passes when score and confidence reach the manifest's minimums; otherwise the next prompt shows the judges' reasoning. */
export function panelVerdict(check: PanelCheck, panel: PanelConcluded): Verdict {
  const { consensus, status, error, individual_results: results, agents } = panel;
  const validator = nameOf(check);
  if (status !== 'concluded' || consensus === null) {
    return { validator, passed: false, score: 0, reason: bounded(`no verdict: ${error ?? `the panel ${status}`}`) };
  }
  const { score, confidence } = consensus;
  const lacks = lacking({ score, confidence }, check);
  if (lacks === null) return { validator, passed: true, score, reason: '' };
  const names = new Map(agents.map(({ agent_id }, at) => [agent_id, check.judges[at] ?? agent_id]));
  const share = Math.floor(LIMITS.keptVerdictChars / 2 / results.length);
  const said = results.map(
    (judge) =>
      `judge ${names.get(judge.agent_id) ?? judge.agent_id} (score ${figure(judge.score)}, confidence ${figure(judge.confidence)}): ${keepHead(judge.reasoning, share)}`,
  );
  return { validator, passed: false, score, reason: bounded([lacks, ...said].join('\n')) };
}

/** The same for a model. An answer that is not in the format of a judge is no verdict. */
export function modelVerdict(check: ModelCheck, said: ReadJudge): Verdict {
  const validator = nameOf(check);
  if (!said.ok) return { validator, passed: false, score: 0, reason: bounded(`no verdict: ${said.reason}`) };
  const { score, confidence, reasoning } = said;
  const lacks = lacking({ score, confidence }, { min_score: check.min_score, min_confidence: 0 });
  if (lacks === null) return { validator, passed: true, score, reason: '' };
  return { validator, passed: false, score, reason: bounded(`${lacks}\n${reasoning}`) };
}

function lacking(
  { score, confidence }: { readonly score: number; readonly confidence: number },
  least: { readonly min_score: number; readonly min_confidence: number },
): string | null {
  if (score < least.min_score) return `score ${figure(score)}, at least ${least.min_score} is needed`;
  if (confidence >= least.min_confidence) return null;
  return `score ${figure(score)}, but confidence ${figure(confidence)}, at least ${least.min_confidence} is needed`;
}

const figure = (value: number): string => String(Math.round(value * 1_000) / 1_000);

const bounded = (reason: string): string => keepHead(reason, LIMITS.keptVerdictChars);

/**
 * Convenes a panel for a result or a proposed tool call; returns the panel's id. Throws `failed_precondition` when its judges
 * would exceed the maximum depth, `payload_too_large` when the input is too long for a judge.
 */
export function conveneJudges(
  running: RunningExecution,
  check: PanelCheck,
  input: string,
  turn: ExecutionTurn,
): string {
  const depth = (running.depth ?? 0) + 1;
  if (depth > LIMITS.judgeDepth) {
    const text = `MaxRecursiveDepthExceeded: its judges would run at depth ${depth}, the deepest is ${LIMITS.judgeDepth}`;
    throw new SvcError('failed_precondition', text);
  }
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
      // With one judge the confidence is that judge's.
      confidence_weighting:
        check.type === 'semantic'
          ? { agreement_factor: 0, self_confidence_factor: 1 }
          : { agreement_factor: 0.7, self_confidence_factor: 0.3 },
      early_stop: false,
    },
    depth,
    notify: { to: turn.self, as: 'PanelWord', context: { iteration: running.iteration_count } },
    workflow_execution_id: running.workflow_execution_id ?? undefined,
    identity: running.identity,
    in_prose: running.in_prose,
    rules: running.rules,
  };
  turn.tell(addressOf('judge-panel', turn.tenant, panelId), 'Convene', plainJson(message));
  return panelId;
}

function refuseTooLong(input: string): void {
  const bytes = Buffer.byteLength(input);
  if (bytes <= LIMITS.judgeInputBytes) return;
  const text = `a judge would be given ${bytes} bytes, at most ${LIMITS.judgeInputBytes} are judged`;
  throw new SvcError('payload_too_large', text);
}
