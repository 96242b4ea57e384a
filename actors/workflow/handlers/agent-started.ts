import type { EffectResult } from '../../../runtime/effect.ts';
import { release } from '../children.ts';
import type { WorkflowTurn } from '../messages.ts';
import { finish } from '../run.ts';
import { isRunning, type WorkflowState } from '../state.ts';
import { failed } from '../steps/step.ts';

/** Answer of the effect `agent.start`. The agent's own words decide; a failure to start it fails the state. */
export function AgentStarted(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'agent') return state;
  const { awaiting, ...run } = state;
  if (awaiting.effect_id !== result.effectId) return state;
  const { outcome } = result;
  if (outcome.kind === 'done') return { ...run, awaiting: { ...awaiting, effect_id: null } };
  // It may run all the same, when only the answer of its start was lost.
  release({ ...awaiting, effect_id: null }, 'its start failed', turn);
  const record = { output: null, score: 0, confidence: 0, iterations: 0 };
  const { code, message } =
    outcome.kind === 'failed' ? outcome : { code: 'in_doubt', message: 'nobody knows whether the agent was started' };
  return finish(run, failed(code, message, record), turn);
}
