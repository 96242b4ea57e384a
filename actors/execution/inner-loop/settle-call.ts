import type { ToolOutcome } from '../../../manifests/tool/call.ts';
import { keepHead } from '../bounded-text.ts';
import type { ExecutionTurn } from '../messages.ts';
import { loopOf, withCall, withLoop } from '../phase.ts';
import { progressed, type RunningExecution } from '../state.ts';
import { recordDecision, recordEnd } from './audit.ts';
import { type CallAnswer, LOOP, type LoopCall, type ToolHistory } from './state.ts';

/** A call that is not run; the model gets the reason. */
export function denyCall(
  running: RunningExecution,
  call: LoopCall,
  denial: { readonly reason: string; readonly message: string; readonly schema_hash: string | null },
  turn: ExecutionTurn,
): RunningExecution {
  recordDecision(running, call, denial, turn);
  const answer = deniedAnswer(denial.reason, denial.message);
  return answered(running, call, answer, 'denied');
}

/** A call that has run, with success or not. */
export function endCall(
  running: RunningExecution,
  call: LoopCall,
  outcome: ToolOutcome,
  turn: ExecutionTurn,
): RunningExecution {
  const { is_error, error } = outcome;
  const status = is_error ? 'failed' : 'succeeded';
  // Only the code: the message may hold arguments or output, which the chain must not.
  const code = is_error ? (error?.code ?? 'error') : null;
  recordEnd(running, call, { outcome: status, error: code, result: outcome }, turn);
  return answered(progressed(counted(running)), call, outcomeAnswer(outcome), status);
}

/**
 * It is unknown whether the call acted: the model gets that as its result, the state lists it, and it is never repeated
 * here (E2).
 */
export function doubtCall(running: RunningExecution, call: LoopCall, turn: ExecutionTurn): RunningExecution {
  recordEnd(running, call, { outcome: 'in_doubt', error: null, result: null }, turn);
  const doubt = {
    tool: keepHead(call.name, 200),
    call: call.key,
    iteration: running.iteration_count,
    round: loopOf(running).round,
  };
  const calls_in_doubt = [...running.calls_in_doubt, doubt].slice(-LOOP.inDoubt);
  const answer = { content: IN_DOUBT, is_error: true };
  return answered({ ...counted(running), calls_in_doubt }, call, answer, 'in_doubt');
}

/** The bootstrap that had a command to run is gone, and it is unknown how far it came. */
export function doubtDispatch(running: RunningExecution, turn: ExecutionTurn): RunningExecution {
  const open = running.current.loop?.calls.find(({ status }) => status === 'dispatched');
  return open === undefined ? running : doubtCall(running, open, turn);
}

/** The iteration is over. Calls that had begun and must not be repeated are in doubt; the others have failed. */
export function breakOffCalls(running: RunningExecution, reason: string, turn: ExecutionTurn): RunningExecution {
  let settled = running;
  for (const call of running.current.loop?.calls ?? []) {
    if (call.status !== 'running' && call.status !== 'dispatched') continue;
    if (call.status === 'dispatched' || call.allowed?.offer.mode !== 'repeatable') {
      settled = doubtCall(settled, call, turn);
      continue;
    }
    recordEnd(settled, call, { outcome: 'failed', error: 'cancelled', result: null }, turn);
    settled = answered(settled, call, { content: `Error cancelled: ${reason}`, is_error: true }, 'failed');
  }
  return settled;
}

function counted(running: RunningExecution): RunningExecution {
  const executed = loopOf(running).executed + 1;
  return withLoop({ ...running, tool_calls_executed: running.tool_calls_executed + 1 }, { executed });
}

function answered(
  running: RunningExecution,
  call: LoopCall,
  answer: CallAnswer,
  status: ToolHistory['status'],
): RunningExecution {
  const entry: ToolHistory = {
    tool: keepHead(call.name, 200),
    arguments: keepHead(JSON.stringify(call.allowed?.arguments ?? {}), LOOP.historyChars),
    status,
    result: keepHead(answer.content, LOOP.historyChars),
  };
  const tool_history = [...running.tool_history, entry].slice(-LOOP.history);
  return withCall({ ...running, tool_history }, call.key, { status: 'answered', allowed: null, answer });
}

const NOT_AVAILABLE = 'This is not available to you; do not ask for it again.';

/** Denials that another call of the same tool can avoid. */
const AVOIDABLE: ReadonlySet<string> = new Set([
  'InvalidArguments',
  'JudgeRejected',
  'RateLimitExceeded',
  'ConcurrentExecLimitExceeded',
]);

const notAvailable = (message: string): string => `${message}${/[.!?]$/.test(message) ? '' : '.'} ${NOT_AVAILABLE}`;

/** Result of a denied call, for the model (W28). */
function deniedAnswer(reason: string, message: string): CallAnswer {
  const said = AVOIDABLE.has(reason) ? message : notAvailable(message);
  return { content: keepHead(`Error ${reason}: ${said}`, LOOP.resultChars), is_error: true };
}

const IN_DOUBT =
  'Error in_doubt: the call had started when its node failed, so it may or may not have acted. It was not repeated. ' +
  'Find out what is there before you ask for it again.';

/** Result of a call that has run, for the model. */
export function outcomeAnswer({ content, is_error, error, stored }: ToolOutcome): CallAnswer {
  const text = content.map(partText).join('\n');
  const said = error?.class === 'policy' ? notAvailable(error.message) : error?.message;
  const head = is_error ? `Error${error === undefined ? '' : ` ${error.code}: ${said}`}` : '';
  const parts = [head, error !== undefined && isSaid(text, error) ? '' : text].filter((part) => part !== '');
  return {
    content: keepHead(parts.join('\n'), LOOP.resultChars),
    // The text of an error is short and stays whole; only a result has a reference.
    ...(stored === undefined || is_error ? {} : { content_ref: stored.ref }),
    is_error,
  };
}

/** Some tools return the error's code and message as their text too: once is enough. */
const isSaid = (text: string, { code, message }: NonNullable<ToolOutcome['error']>): boolean =>
  text === message || text === `${code}: ${message}`;

/** A model gets text; of any other part it gets a note. */
function partText(part: ToolOutcome['content'][number]): string {
  if (part.type === 'text' && typeof part.text === 'string') return part.text;
  const type = typeof part.mimeType === 'string' ? `${String(part.type)}, ${part.mimeType}` : String(part.type);
  return `[${type}: not shown]`;
}
