import { SvcError } from '../../../runtime/errors.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';
import { askModel } from './ask.ts';
import { bounded, toolMessages } from './conversation.ts';
import { failLoop } from './finish.ts';
import { LOOP } from './limits.ts';
import { withLoop } from './loop-of.ts';
import { runCall } from './run-call.ts';
import type { Loop, LoopCall } from './state.ts';
import { judgeCall } from './tool-judging.ts';

/**
 * Begins every call that may begin now. Calls that only read go side by side; any other begins when all before it have
 * ended and ends before any after it begins. When all are answered the model is asked again.
 */
export function goOn(running: RunningExecution, turn: ExecutionTurn): ExecutionState {
  const { loop } = running.current;
  if (loop?.phase !== 'calls') return running;
  if (loop.calls.every(({ status }) => status === 'answered')) return nextTurn(running, loop, turn);
  let begun = running;
  for (const { key } of loop.calls) {
    const call = (begun.current.loop?.calls ?? []).find((one) => one.key === key);
    if (call === undefined || !mayBegin(begun.current.loop?.calls ?? [], call)) continue;
    try {
      begun = begin(begun, call, turn);
    } catch (thrown) {
      if (!(thrown instanceof SvcError) || thrown.row.kind === 'bug') throw thrown;
      return failLoop(begun, { error_type: 'tool_judge_failed', message: thrown.message }, turn);
    }
  }
  return begun;
}

function begin(running: RunningExecution, call: LoopCall, turn: ExecutionTurn): RunningExecution {
  const { allowed } = call;
  if (allowed === null) return running;
  const check = allowed.offer.skip_judge ? undefined : running.plan.tool_checks[call.judged];
  return check === undefined ? runCall(running, call, allowed, turn) : judgeCall(running, call, check, turn);
}

const onlyReads = ({ allowed }: LoopCall): boolean => allowed?.offer.reads === true && allowed.offer.runs === 'node';

function mayBegin(calls: readonly LoopCall[], call: LoopCall): boolean {
  if (call.status !== 'waiting') return false;
  const before = calls.slice(0, calls.indexOf(call)).filter(({ status }) => status !== 'answered');
  if (before.length === 0) return true;
  if (!onlyReads(call) || !before.every(onlyReads)) return false;
  const under = before.filter(({ status }) => status !== 'waiting');
  const same = under.filter(({ allowed }) => allowed?.offer.name === call.allowed?.offer.name);
  return under.length < LOOP.readsAtOnce && same.length < (call.allowed?.limits.max_concurrent ?? LOOP.readsAtOnce);
}

function nextTurn(running: RunningExecution, loop: Loop, turn: ExecutionTurn): ExecutionState {
  const messages = bounded([...loop.messages, ...toolMessages(loop.calls)]);
  const told = withLoop(running, { messages, calls: [] });
  if (loop.round < LOOP.rounds) return askModel(told, turn);
  const message = `the model asked for tools in each of ${LOOP.rounds} rounds and gave no answer`;
  return failLoop(told, { error_type: 'inner_loop_limit', message }, turn);
}
