import { z } from 'zod';
import { canonicalHash } from '../../../manifests/audit/record.ts';
import { ToolRun } from '../../../manifests/tool/call.ts';
import type { ToolPolicy } from '../../../manifests/tool/decision.ts';
import type { ToolGrant } from '../../../manifests/tool/scope.ts';
import type { EffectProgress, EffectResult } from '../../../runtime/effect.ts';
import { type JsonObject, jsonObjectField, plainJson, plainObject } from '../../../runtime/json.ts';
import { askingMessage, withStoredPart } from '../inner-loop/ask.ts';
import { continueLoop } from '../inner-loop/calls.ts';
import { denyCall } from '../inner-loop/settle-call.ts';
import { LOOP, type LoopCall } from '../inner-loop/state.ts';
import { rejectIteration } from '../iteration.ts';
import type { ExecutionTurn } from '../messages.ts';
import { ModelAnswer, noAnswer, withUsage } from '../model-answer.ts';
import { effectFailed, failLoop, failureOf, finishLoop, judgeResult, stream } from '../outcome.ts';
import { awaited, loopOf, withCall, withLoop } from '../phase.ts';
import { type ExecutionState, progressed, type RunningExecution } from '../state.ts';

const MALFORMED = { error_type: 'model_failed', message: 'the answer of the model is malformed' } as const;

/** The model has answered: a round of the inner loop, or an iteration without tools. `policy` decides about tool calls. */
export const modelAnswered =
  (policy: ToolPolicy) =>
  (state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState => {
    const found = awaited(state, 'ModelAnswered', result.effectId);
    if (found === null) return state;
    const { running, wait } = found;
    return wait.kind === 'round' ? endRound(running, result, policy, turn) : endIteration(running, result, turn);
  };

function endRound(
  running: RunningExecution,
  { outcome }: EffectResult,
  policy: ToolPolicy,
  turn: ExecutionTurn,
): ExecutionState {
  if (outcome.kind !== 'done') return failLoop(running, failureOf(outcome), turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) return failLoop(running, MALFORMED, turn);
  return takeAnswer(withUsage(running, answer.data), answer.data, policy, turn);
}

function endIteration(running: RunningExecution, { outcome }: EffectResult, turn: ExecutionTurn): ExecutionState {
  if (outcome.kind !== 'done') return effectFailed(running, outcome, turn);
  const answer = ModelAnswer.safeParse(outcome.value);
  if (!answer.success) return rejectIteration(running, MALFORMED, turn);
  const { text } = answer.data;
  const counted = withUsage(running, answer.data);
  const none = noAnswer(answer.data);
  if (none !== null) return rejectIteration(counted, { ...none, output: text }, turn);
  return judgeResult(counted, { stdout: text, stderr: '', exit_code: 0 }, turn);
}

const Chunk = z.object({ text: z.string() });

/** A streamed piece of the model's answer. Malformed ones are dropped: the result has the whole text. */
export function ModelChunk(state: ExecutionState, progress: EffectProgress, turn: ExecutionTurn): ExecutionState {
  const found = awaited(state, 'ModelChunk', progress.effectId);
  const chunk = Chunk.safeParse(progress.value);
  if (found === null || !chunk.success) return state;
  return stream(found.running, progress.attempt, chunk.data.text, turn);
}

/** The model's answer of one round: the final text, or tool calls, each of which is allowed or denied in this turn. */
function takeAnswer(
  running: RunningExecution,
  answer: ModelAnswer,
  policy: ToolPolicy,
  turn: ExecutionTurn,
): ExecutionState {
  const loop = loopOf(running);
  const { grant } = running;
  const none = noAnswer(grant !== undefined ? { ...answer, tool_calls: [] } : answer);
  if (none !== null) return failLoop(running, { ...none, output: answer.text }, turn);
  if (answer.tool_calls.length === 0 || grant === undefined) {
    return finishLoop(progressed(running), answer.text, turn);
  }
  const proposed = proposedCalls(answer.tool_calls.slice(0, LOOP.callsInConversation));
  const asking = askingMessage(
    answer.text,
    proposed.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
  );
  // Counted over all conversations of the iteration, so that a restarted conversation gets other keys in the audit chain.
  const round = loop.earlier_rounds + loop.round;
  const prefix = `${running.iteration_count}.${loop.request === '' ? '' : `${loop.request.slice(0, 8)}.`}${round}`;
  const calls = proposed.map((call, at) => waitingCall(call, `${prefix}.${at + 1}`));
  let state = withLoop(progressed(running), {
    phase: 'calls',
    effect_id: null,
    calls,
    ...withStoredPart(loop, answer, asking),
  });
  for (const [at, call] of calls.entries()) {
    const { problem } = proposed[at] ?? {};
    const args = proposed[at]?.arguments ?? {};
    state = decide(state, { call, args, problem: problem ?? tooMany(at) }, { grant, policy, turn });
  }
  return continueLoop(state, turn);
}

interface Deciding {
  readonly grant: ToolGrant;
  readonly policy: ToolPolicy;
  readonly turn: ExecutionTurn;
}

function decide(
  running: RunningExecution,
  { call, args, problem }: { readonly call: LoopCall; readonly args: JsonObject; readonly problem: string | undefined },
  { grant, policy, turn }: Deciding,
): RunningExecution {
  if (problem !== undefined) {
    return denyCall(running, call, { reason: 'InvalidArguments', message: problem, schema_hash: null }, turn);
  }
  const decision = policy.decide(grant, { name: call.name, arguments: args });
  if (!decision.allowed) {
    const { reason, message, offer } = decision;
    return denyCall(running, call, { reason, message, schema_hash: offer?.schema_hash ?? null }, turn);
  }
  const { description: _description, input_schema: _schema, ...offer } = decision.offer;
  const allowed = {
    offer,
    arguments: plainObject(decision.arguments),
    limits: ToolRun.shape.limits.parse(plainJson(decision.limits)),
  };
  return withCall(running, call.key, { allowed });
}

function waitingCall({ id, name, arguments: args }: ProposedCall, key: string): LoopCall {
  const payload_hash = canonicalHash({ name, arguments: args });
  return { key, id, name, status: 'waiting', allowed: null, payload_hash, judged: 0, answer: null };
}

const tooMany = (at: number): string | undefined =>
  at < LOOP.callsPerTurn ? undefined : `at most ${LOOP.callsPerTurn} calls of one turn are run; ask again for the rest`;

/** One call as the model requested it. */
interface ProposedCall {
  /** Unique among the calls of one answer, so that each result finds its call. */
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  /** The reason why it is malformed; such a call is denied without asking the policy. */
  readonly problem?: string;
}

const Proposed = z.object({ id: z.string().max(200).catch(''), name: z.string(), arguments: jsonObjectField });

const NameOnly = z.object({ name: z.string() });

const NAME_CHARS = 200;

/** The calls of one answer. A malformed one keeps its position, with its problem. */
export function proposedCalls(calls: readonly unknown[]): ProposedCall[] {
  const ids = new Set<string>();
  let bytes = 0;
  return calls.map((given, at) => {
    const read = Proposed.safeParse(given);
    const named = NameOnly.safeParse(given);
    const name = (named.success ? named.data.name : '').slice(0, NAME_CHARS) || 'unknown';
    const id = uniqueId(read.success ? read.data.id : '', at, ids);
    if (!read.success) return { id, name, arguments: {}, problem: 'expected a name and an object of arguments' };
    if (read.data.name.length > NAME_CHARS) {
      return { id, name, arguments: {}, problem: `a tool's name has at most ${NAME_CHARS} characters` };
    }
    bytes += Buffer.byteLength(JSON.stringify(read.data.arguments));
    if (bytes > LOOP.argumentBytes) {
      return { id, name, arguments: {}, problem: `the arguments of one turn have at most ${LOOP.argumentBytes} bytes` };
    }
    return { id, name, arguments: read.data.arguments };
  });
}

function uniqueId(given: string, at: number, ids: Set<string>): string {
  let id = given === '' ? `call_${at + 1}` : given;
  for (let n = 2; ids.has(id); n += 1) id = `${given.slice(0, 180)}_${at + 1}_${n}`;
  ids.add(id);
  return id;
}
