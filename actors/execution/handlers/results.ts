import { z } from 'zod';
import type { ToolPolicy } from '../../../manifests/tool/decision.ts';
import type { EffectProgress, EffectResult } from '../../../runtime/effect.ts';
import { readJudge } from '../../judge-panel/judge-output.ts';
import type { PanelConcluded } from '../../judge-panel/messages.ts';
import { keepHead, keepTail } from '../bounded-text.ts';
import { completeExecution, stopCalls } from '../ending.ts';
import { takeAnswer } from '../inner-loop/answered.ts';
import { goOn } from '../inner-loop/calls.ts';
import { failLoop } from '../inner-loop/finish.ts';
import { callJudged } from '../inner-loop/handlers.ts';
import { loopAwaiting } from '../inner-loop/loop-of.ts';
import { doubtDispatch } from '../inner-loop/settle-call.ts';
import { refineIteration, rejectIteration } from '../iteration.ts';
import { askedJudge, modelVerdict, panelVerdict, settle } from '../judging.ts';
import { LIMITS } from '../limits.ts';
import { hintsOf } from '../memory/ask.ts';
import type { Hint } from '../memory/state.ts';
import type { ExecutionTurn } from '../messages.ts';
import { ModelAnswer, noAnswer, withUsage } from '../model-answer.ts';
import { awaiting, isHopeless, judge, plainFailure, stream, undone } from '../outcome.ts';
import { hasOwnBootstrap, type ModelCheck, needsPanel } from '../plan.ts';
import type { ExecutionState, RunningExecution, Verdict } from '../state.ts';
import { nameOf } from '../validators/validate.ts';
import { timeIterationOut } from './cancel.ts';

/** Result value of the effects `program.run` and `agent.container`. */
const ProgramEnd = z.object({
  exit_code: z.number().int().nullable(),
  signal: z.string().nullish(),
  stdout: z.string(),
  stderr: z.string().default(''),
  stdout_truncated: z.boolean().default(false),
  timed_out: z.boolean().default(false),
  /** The limit for which its node ended it: `memory`, `processes`. */
  stopped_by: z.string().max(100).optional(),
});

type ProgramEnd = z.output<typeof ProgramEnd>;

export function ProgramEnded(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const running = awaiting(state, result.effectId);
  if (running === null) return state;
  if (result.outcome.kind !== 'done') return withoutEnd(running, result.outcome, turn);
  const stopped = stopCalls(running, 'the program of the agent has ended', turn);
  const end = ProgramEnd.safeParse(result.outcome.value);
  if (!end.success) {
    const message = 'the result of the program is malformed';
    return rejectIteration(stopped, { error_type: 'program_failed', message }, turn);
  }
  if (end.data.timed_out) return timeIterationOut(stopped, turn);
  return decide(stopped, end.data, turn);
}

/** A repeated program finds its loop where it is; a command in doubt is told to the model meanwhile. */
function withoutEnd(
  running: RunningExecution,
  outcome: Exclude<EffectResult['outcome'], { readonly kind: 'done' }>,
  turn: ExecutionTurn,
): ExecutionState {
  const after = undone(running, outcome, turn);
  const goesOn = after.status === 'running' && after.iteration_count === running.iteration_count;
  return goesOn ? goOn(after, turn) : after;
}

function decide(running: RunningExecution, end: ProgramEnd, turn: ExecutionTurn): ExecutionState {
  const { stdout, stderr, exit_code, signal } = end;
  const final = loopResult(running);
  if (final !== null && exit_code === 0) return judge(running, { stdout: final, stderr: '', exit_code }, turn);
  if (end.stdout_truncated) {
    const message = `the output has more than ${LIMITS.outputBytes} bytes`;
    return rejectIteration(running, { error_type: 'output_too_large', message, output: stdout, exit_code }, turn);
  }
  const bySignal = exit_code === null || (signal !== undefined && signal !== null);
  const unchecked = running.plan.validators.length === 0 && exit_code !== 0;
  if (!bySignal && !unchecked) return judge(running, { stdout, stderr, exit_code }, turn);
  const limit = end.stopped_by === undefined ? '' : ` at its limit of ${end.stopped_by}`;
  const how = bySignal ? `was ended by ${signal ?? 'a signal'}${limit}` : `ended with exit code ${exit_code}`;
  const said = stderr.trim();
  const failure = {
    error_type: 'program_failed',
    message: said === '' ? `the program ${how}` : `the program ${how}: ${keepTail(said, 1_000)}`,
    output: stdout,
    exit_code,
    ...(said === '' ? {} : { stacktrace: keepTail(said, LIMITS.stderrTailChars) }),
  };
  return rejectIteration(running, failure, turn);
}

/** With the node's own bootstrap the answer of the loop is the output, the same as where the loop runs in the node. */
function loopResult({ plan, current }: RunningExecution): string | null {
  if (hasOwnBootstrap(plan) || current.loop?.phase !== 'final') return null;
  const content = current.loop.messages.at(-1)?.content;
  return typeof content === 'string' ? content : null;
}

const MALFORMED = { error_type: 'model_failed', message: 'the answer of the model is malformed' } as const;

/** The model of a round of the inner loop, or of an iteration without tools. `policy` decides about calls. */
export const modelAnswered =
  (policy: ToolPolicy) =>
  (state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState => {
    const looping = loopAwaiting(state, result.effectId);
    if (looping !== null) {
      return looping.loop.phase === 'model' ? inLoop(looping.running, result, policy, turn) : state;
    }
    const running = awaiting(state, result.effectId);
    return running === null ? state : alone(running, result, turn);
  };

function inLoop(
  running: RunningExecution,
  { outcome }: EffectResult,
  policy: ToolPolicy,
  turn: ExecutionTurn,
): ExecutionState {
  if (outcome.kind !== 'done') return failLoop(running, plainFailure(outcome), turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) return failLoop(running, MALFORMED, turn);
  return takeAnswer(withUsage(running, answer.data), answer.data, policy, turn);
}

function alone(running: RunningExecution, { outcome }: EffectResult, turn: ExecutionTurn): ExecutionState {
  if (outcome.kind !== 'done') return undone(running, outcome, turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) return rejectIteration(running, MALFORMED, turn);
  const { text } = answer.data;
  const counted = withUsage(running, answer.data);
  const none = noAnswer(answer.data);
  if (none !== null) return rejectIteration(counted, { ...none, output: text }, turn);
  return judge(counted, { stdout: text, stderr: '', exit_code: 0 }, turn);
}

/** A model that was asked as a judge has answered, or could not be asked. */
export function ModelJudged(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  const asked = askedJudge(state, (by) => by.kind === 'model' && by.effect_id === effectId);
  if (asked === null || asked.check.type !== 'semantic_prompt') return state;
  const { running, judging, check } = asked;
  if (outcome.kind !== 'done') return settle(running, judging, notAsked(check, outcome), turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) {
    const reason = 'the answer of the model is malformed';
    return settle(running, judging, modelVerdict(check, { ok: false, reason, output: null }), turn);
  }
  const none = noAnswer(answer.data);
  const said = none === null ? readJudge(answer.data.text) : { ok: false as const, reason: none.message, output: null };
  return settle(withUsage(running, answer.data), judging, modelVerdict(check, said), turn);
}

/** `skip` is for a judge that is unavailable, not for one that the manifest or the node names wrongly. */
function notAsked(check: ModelCheck, outcome: Exclude<EffectResult['outcome'], { readonly kind: 'done' }>): Verdict {
  const validator = nameOf(check);
  const [code, message] =
    outcome.kind === 'failed' ? [outcome.code, outcome.message] : ['in_doubt', 'its node died while it was asked'];
  const reason = `the judge could not be asked: ${code}: ${message}`;
  if (check.fallback === 'skip' && !isHopeless(code)) return { validator, passed: true, score: 1, reason };
  return { validator, passed: false, score: 0, reason };
}

/** The judges of the running iteration's result, or of a proposed tool call, have their verdict, or too few gave one. */
export function PanelWord(state: ExecutionState, word: PanelConcluded, turn: ExecutionTurn): ExecutionState {
  const asked = askedJudge(state, (by) => by.kind === 'panel' && by.panel_id === word.panel_id);
  if (asked === null) return callJudged(state, word, turn);
  if (!needsPanel(asked.check)) return state;
  return settle(asked.running, asked.judging, panelVerdict(asked.check, word), turn);
}

/** Progress value of `model.generate`, `program.run` and `agent.container`. */
const Chunk = z.object({ text: z.string() });

/** `agent.container` says it once. */
const Container = z.object({ container_id: z.string().min(1).max(200) });

/** Chunks of another effect, an older attempt or another shape are dropped: the result is the truth. */
function takeModelChunk(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const running = loopAwaiting(state, progress.effectId)?.running ?? awaiting(state, progress.effectId);
  const chunk = Chunk.safeParse(progress.value);
  if (running === null || !chunk.success) return state;
  return stream(running, progress.attempt, chunk.data.text, turn);
}

/** With the node's own bootstrap the model's chunks are the stream, so stdout is not. */
function takeProgramChunk(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const running = awaiting(state, progress.effectId);
  if (running === null) return state;
  const container = Container.safeParse(progress.value);
  if (container.success) return inContainer(running, container.data.container_id, turn);
  const chunk = Chunk.safeParse(progress.value);
  if (!chunk.success || !hasOwnBootstrap(running.plan)) return state;
  return stream(running, progress.attempt, chunk.data.text, turn);
}

/** Another container than before: the bootstrap that had a command to run is gone with the first. */
function inContainer(running: RunningExecution, container_id: string, turn: ExecutionTurn): ExecutionState {
  const before = running.current.container_id;
  if (before === container_id) return running;
  const known = { ...running, current: { ...running.current, container_id } };
  return before === undefined ? known : goOn(doubtDispatch(known, turn), turn);
}

/** A piece of the model's answer as it streams. */
export const ModelChunk = takeModelChunk;

/** A piece of the program's stdout as it streams, or the id of the agent's container. */
export const ProgramChunk = takeProgramChunk;

/** Memory has answered, whatever it says: the execution goes on. Late and repeated answers change nothing. */
export function MemoryAnswered(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  return goOnWithPatterns(state, effectId, hintsOf(outcome), turn);
}

/** Memory takes too long: the execution goes on without. */
export function MemoryTimedOut(
  state: ExecutionState,
  { effect_id }: { readonly effect_id: string },
  turn: ExecutionTurn,
): ExecutionState {
  const next = goOnWithPatterns(state, effect_id, [], turn);
  if (next !== state) turn.cancelEffect(effect_id);
  return next;
}

function goOnWithPatterns(state: ExecutionState, effectId: string, hints: Hint[], turn: ExecutionTurn): ExecutionState {
  if (state.status !== 'running') return state;
  const { current, ...idle } = state;
  const { memory } = current;
  if (memory?.effect_id !== effectId) return state;
  if (memory.for === 'hints') return refineIteration({ ...idle, hints }, memory.code_diff, turn);
  const { output, score } = memory;
  return completeExecution({ ...idle, last_output: keepHead(output, LIMITS.keptOutputChars) }, output, score, turn);
}
