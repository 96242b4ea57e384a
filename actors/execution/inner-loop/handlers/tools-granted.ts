import { ToolGrant } from '../../../../manifests/tool/scope.ts';
import type { EffectResult } from '../../../../runtime/effect.ts';
import type { ExecutionTurn } from '../../messages.ts';
import { plainFailure } from '../../outcome.ts';
import type { ExecutionState } from '../../state.ts';
import { askModel } from '../ask.ts';
import { openSession } from '../audit.ts';
import { failLoop } from '../finish.ts';
import { loopAwaiting } from '../loop-of.ts';

/** What the execution's tools may do: pinned until it ends, and the first link of its audit chain. */
export function ToolsGranted(
  state: ExecutionState,
  { effectId, outcome }: EffectResult,
  turn: ExecutionTurn,
): ExecutionState {
  const looping = loopAwaiting(state, effectId);
  if (looping === null || looping.loop.phase !== 'granting') return state;
  const { running } = looping;
  if (outcome.kind !== 'done') return failLoop(running, plainFailure(outcome), turn);
  const read = ToolGrant.safeParse(outcome.value);
  if (!read.success) {
    return failLoop(running, { error_type: 'tool_failed', message: 'the grant of the tools is malformed' }, turn);
  }
  const granted = { ...running, grant: read.data };
  openSession(granted, turn);
  return askModel(granted, turn);
}
