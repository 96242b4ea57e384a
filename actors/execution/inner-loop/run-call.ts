import type { ToolRun } from '../../../manifests/tool/call.ts';
import { mayRunAhead } from '../../../manifests/tool/scope.ts';
import type { ExecutionTurn } from '../messages.ts';
import type { RunningExecution } from '../state.ts';
import { endOfIteration } from '../time-left.ts';
import { plain } from './ask.ts';
import { recordDecision, subjectOf } from './audit.ts';
import { LOOP } from './limits.ts';
import { withCall } from './loop-of.ts';
import type { AllowedCall, LoopCall } from './state.ts';

/** Of failures before the tool acted, which the effect reports as kind `retry`. */
const RETRY = { maxAttempts: 4, initialDelayMs: 250, maxDelayMs: 5_000 } as const;

/** Runs an allowed call: on a node, or, where a bootstrap talks to the gateway, by a dispatch. */
export function runCall(
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
    ...(offer.server === undefined ? {} : { server: offer.server }),
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
    input: plain(input),
    replyAs: 'ToolEnded',
    context: { iteration: running.iteration_count, call: call.key },
    retry: RETRY,
    timeoutMs: Math.max(1, Math.min(ceilingMs, endOfIteration(running) - turn.now)),
  });
  return withCall(running, call.key, { status: 'running', effect_id });
}
