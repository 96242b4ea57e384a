import type { ToolOutcome } from '../../../manifests/tool/call.ts';
import { keepHead } from '../bounded-text.ts';
import type { ExecutionTurn } from '../messages.ts';
import { loopOf, withCall, withLoop } from '../phase.ts';
import { progressed, type RunningExecution } from '../state.ts';
import { recordDecision, recordEnd } from './audit.ts';
import { type CallAnswer, LOOP, type LoopCall, type ToolHistory } from './state.ts';

/** Denies a call; the model gets the reason. */
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

/** Records the end of a call, successful or not. */
export function endCall(
  running: RunningExecution,
  call: LoopCall,
  outcome: ToolOutcome,
  turn: ExecutionTurn,
): RunningExecution {
  const { is_error, error } = outcome;
  const status = is_error ? 'failed' : 'succeeded';
  // Only the code: the message may hold arguments or output, which do not belong in the chain.
  const code = is_error ? (error?.code ?? 'error') : null;
  recordEnd(running, call, { outcome: status, error: code, result: outcome }, turn);
  return answered(progressed(counted(running)), call, outcomeAnswer(outcome), status);
}

/**
 * It is unknown whether the call acted: the model gets that as its result, the state lists the call, and it is not repeated
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

/** The bootstrap that had a command to run is gone, and it is unknown what the command did. */
export function doubtDispatch(running: RunningExecution, turn: ExecutionTurn): RunningExecution {
  const open = running.current.loop?.calls.find(({ status }) => status === 'dispatched');
  return open === undefined ? running : doubtCall(running, open, turn);
}

/**
 * The iteration is over. Of the open calls, those that have begun and must not be repeated are in doubt; the others have
 * failed.
 */
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

/** Reasons for denials that another call of the same tool can avoid. */
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

/** Result of a finished call, for the model. */
export function outcomeAnswer({ content, is_error, error, stored }: ToolOutcome): CallAnswer {
  const text = content.map(partText).join('\n');
  const said = error?.class === 'policy' ? notAvailable(error.message) : error?.message;
  const head = is_error ? `Error${error === undefined ? '' : ` ${error.code}: ${said}`}` : '';
  const parts = [head, error !== undefined && isSaid(text, error) ? '' : text].filter((part) => part !== '');
  return {
    content: keepHead(parts.join('\n'), LOOP.resultChars),
    // An error's text is short and not cut; only a result has a reference.
    ...(stored === undefined || is_error ? {} : { content_ref: stored.ref }),
    is_error,
  };
}

/** Some tools repeat the error's code and message as their text: it is shown once. */
const isSaid = (text: string, { code, message }: NonNullable<ToolOutcome['error']>): boolean =>
  text === message || text === `${code}: ${message}`;

/** The model gets a note in place of any part that is not text. */
function partText(part: ToolOutcome['content'][number]): string {
  if (part.type === 'text' && typeof part.text === 'string') return part.text;
  const type = typeof part.mimeType === 'string' ? `${String(part.type)}, ${part.mimeType}` : String(part.type);
  return `[${type}: not shown]`;
}
