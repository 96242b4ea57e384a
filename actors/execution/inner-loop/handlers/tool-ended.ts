import { ToolOutcome } from '../../../../manifests/tool/call.ts';
import type { EffectResult } from '../../../../runtime/effect.ts';
import type { ExecutionTurn } from '../../messages.ts';
import type { ExecutionState } from '../../state.ts';
import { goOn } from '../calls.ts';
import { failLoop } from '../finish.ts';
import { loopOf } from '../loop-of.ts';
import { doubtCall, endCall } from '../settle-call.ts';

/** Codes of a node that is set up wrongly: no other call would fare better. */
const FATAL: ReadonlySet<string> = new Set(['invalid_config', 'unauthenticated']);

/** A call has ended. Its answer is told to the model with those of the same turn; a fatal one ends the loop. */
export function ToolEnded(state: ExecutionState, result: EffectResult, turn: ExecutionTurn): ExecutionState {
  const looping = loopOf(state);
  const call = looping?.loop.calls.find(
    ({ status, effect_id }) => status === 'running' && effect_id === result.effectId,
  );
  if (looping === null || call === undefined) return state;
  const { running } = looping;
  if (result.outcome.kind === 'in_doubt') return goOn(doubtCall(running, call, turn), turn);
  const outcome = outcomeOf(result.outcome);
  const ended = endCall(running, call, outcome, turn);
  const { error } = outcome;
  if (error?.class !== 'fatal') return goOn(ended, turn);
  return failLoop(ended, { error_type: error.code, message: `${call.name}: ${error.message}` }, turn);
}

type Settled = Exclude<EffectResult['outcome'], { readonly kind: 'in_doubt' }>;

function outcomeOf(settled: Settled): ToolOutcome {
  const read = settled.kind === 'done' ? ToolOutcome.safeParse(settled.value) : undefined;
  if (read?.success === true) return read.data;
  const [code, message] =
    settled.kind === 'failed'
      ? [settled.code, settled.message]
      : ['tool_failed', 'the result of the tool is malformed'];
  const error = { code, message, class: FATAL.has(code) ? ('fatal' as const) : ('recoverable' as const) };
  return { content: [], is_error: true, error, duration_ms: 0 };
}
