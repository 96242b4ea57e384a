import { type Address, addressOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import type { WorkflowTurn } from './messages.ts';
import type { Awaiting } from './state.ts';

/** Cancels everything a run waits for: its effects, and, by a message, the actors that it asked. */
export function release(awaiting: Awaiting, why: string, turn: WorkflowTurn): void {
  const cancelled = { reason: why };
  const tell = (kind: string, id: string, type: string, payload: Json): void =>
    turn.tell(addressOf(kind, turn.tenant, id), type, payload);
  switch (awaiting.kind) {
    case 'turn':
      break;
    case 'volumes':
    case 'command':
    case 'container':
      settle(awaiting.effect_id, turn);
      break;
    case 'containers':
      for (const effect of Object.values(awaiting.effects)) turn.cancelEffect(effect);
      break;
    case 'agent':
      settle(awaiting.effect_id, turn);
      tell('execution', awaiting.execution_id, 'Cancel', cancelled);
      break;
    case 'child':
      settle(awaiting.effect_id, turn);
      tell('workflow', awaiting.execution_id, 'Cancel', cancelled);
      break;
    case 'panel':
      tell('judge-panel', awaiting.panel_id, 'Cancel', cancelled);
      break;
    case 'approval':
      tell('approval', awaiting.approval_id, 'Withdraw', {});
      break;
  }
}

/** Cancels the start of a child whose update came before the start's answer. */
export function settle(effectId: string | null, turn: WorkflowTurn): void {
  if (effectId !== null) turn.cancelEffect(effectId);
}

/**
 * Cancels an unwanted child when it reports its start, which was in progress when its state ended (actors/execution/update.ts).
 */
export function cancelUnwanted(
  kind: 'execution' | 'workflow',
  update: { readonly status: string; readonly execution_id: string },
  turn: WorkflowTurn,
): void {
  if (update.status !== 'running') return;
  const child = addressOrNull(kind, turn.tenant, update.execution_id);
  if (child !== null) turn.tell(child, 'Cancel', { reason: 'its parent no longer waits for it' });
}

function addressOrNull(kind: string, tenant: string, id: string): Address | null {
  try {
    return addressOf(kind, tenant, id);
  } catch (thrown) {
    if (thrown instanceof SvcError) return null;
    throw thrown;
  }
}
