import type { ToolRun } from '../../../manifests/tool/call.ts';
import { mayRunAhead } from '../../../manifests/tool/scope.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { plainObject } from '../../../runtime/json.ts';
import { keepHead } from '../bounded-text.ts';
import { endOfIteration } from '../ending.ts';
import { mountsOf } from '../environment.ts';
import { conveneJudges } from '../judging.ts';
import { LIMITS } from '../limits.ts';
import type { ExecutionTurn } from '../messages.ts';
import { failLoop } from '../outcome.ts';
import { loopOf, withCall, withLoop } from '../phase.ts';
import type { PanelCheck } from '../plan.ts';
import { renderTask } from '../prompt.ts';
import type { ExecutionState, RunningExecution } from '../state.ts';
import { askModel, bounded, toolMessages } from './ask.ts';
import { recordDecision, subjectOf } from './audit.ts';
import { type AllowedCall, LOOP, type Loop, type LoopCall } from './state.ts';

/**
 * Begins every call that may begin now. Read-only calls run in parallel; any other call waits for all before it, and all after
 * it wait for its end. When all have ended the model gets the results.
 */
export function continueLoop(running: RunningExecution, turn: ExecutionTurn): ExecutionState {
  const { loop } = running.current;
  if (loop?.phase !== 'calls') return running;
  if (loop.calls.every(({ status }) => status === 'answered')) return nextRound(running, loop, turn);
  let begun = running;
  for (const { key } of loop.calls) {
    const { calls } = loopOf(begun);
    const call = calls.find((one) => one.key === key);
    if (call === undefined || !mayBegin(calls, call)) continue;
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

function nextRound(running: RunningExecution, loop: Loop, turn: ExecutionTurn): ExecutionState {
  const messages = bounded([...loop.messages, ...toolMessages(loop.calls)]);
  const next = withLoop(running, { messages, calls: [] });
  if (loop.round < LOOP.rounds) return askModel(next, turn);
  const message = `the model asked for tools in each of ${LOOP.rounds} rounds and gave no answer`;
  return failLoop(next, { error_type: 'inner_loop_limit', message }, turn);
}

/** Retries of failures before the tool acted, which the effect reports as kind `retry`. */
const RETRY = { maxAttempts: 4, initialDelayMs: 250, maxDelayMs: 5_000 } as const;

/** Runs an allowed call on a node, or dispatches it to the bootstrap if one uses the gateway. */
function runCall(
  running: RunningExecution,
  call: LoopCall,
  allowed: AllowedCall,
  turn: ExecutionTurn,
): RunningExecution {
  const { grant } = running;
  if (grant === undefined) return running;
  const { offer, limits } = allowed;
  recordDecision(running, call, { reason: null, schema_hash: offer.schema_hash }, turn);
  if (offer.runs === 'agent' && running.current.loop?.by === 'gateway') {
    return withCall(running, call.key, { status: 'dispatched', dispatch_id: turn.newId() });
  }
  const { tools: _tools, ceilings: _ceilings, ...scope } = grant;
  const input: ToolRun = {
    tool: offer.name,
    arguments: allowed.arguments,
    schema_hash: offer.schema_hash,
    server: offer.server,
    subject: subjectOf(running, running.execution_id),
    scope,
    limits,
  };
  const ceilingMs =
    limits.command === undefined ? LOOP.callTimeoutMs : limits.command.timeout_secs * 1_000 + LOOP.commandMarginMs;
  const effect_id = turn.effect({
    kind: 'tool.call',
    mode: offer.mode,
    ahead: mayRunAhead(offer),
    input: plainObject(input),
    replyAs: 'ToolEnded',
    context: { iteration: running.iteration_count, call: call.key },
    retry: RETRY,
    timeoutMs: Math.max(1, Math.min(ceilingMs, endOfIteration(running) - turn.now)),
  });
  return withCall(running, call.key, { status: 'running', effect_id });
}

/** Asks the judges about a proposed call: its use and arguments, not its result (W32). Throws as `conveneJudges`. */
function judgeCall(
  running: RunningExecution,
  call: LoopCall,
  check: PanelCheck,
  turn: ExecutionTurn,
): RunningExecution {
  const panel_id = conveneJudges(running, check, callInput(running, call, check), turn);
  return withCall(running, call.key, { status: 'judging', panel_id });
}

/** Input of a judge of a proposed call (W27, W32). */
function callInput(running: RunningExecution, { name, allowed }: LoopCall, check: PanelCheck): string {
  return JSON.stringify({
    task: keepHead(renderTask(running, running.iteration_count), LIMITS.judgeTaskChars),
    proposed_tool_call: { name, arguments: allowed?.arguments ?? {} },
    available_tools: (running.grant?.tools ?? []).map((tool) => tool.name),
    criteria: check.criteria,
    tool_audit_history: running.tool_history,
    worker_mounts: mountsOf(running).map(({ mount_path, read_only }) => ({ mount_path, read_only })),
    execution_id: running.execution_id,
    validation_context: 'semantic_judge_pre_execution_inner_loop',
  });
}
