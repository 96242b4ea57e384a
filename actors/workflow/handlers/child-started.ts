import { z } from 'zod';
import type { EffectResult } from '../../../runtime/effect.ts';
import { ancestryReason } from '../ancestry.ts';
import { release } from '../children.ts';
import type { WorkflowTurn } from '../messages.ts';
import { currentStep, finish } from '../run.ts';
import { isRunning, type WorkflowState } from '../state.ts';
import { failed } from '../steps/step.ts';
import { leaveChild, meetChild, tellChildFailed } from './child-word.ts';

/** Result value of the effect `workflow.start`. */
const Started = z.object({ workflow_id: z.string(), name: z.string().optional() });

/** Answer of the effect `workflow.start`. A child that is missing, too deep or part of a cycle fails the state. */
export function ChildStarted(state: WorkflowState, result: EffectResult, turn: WorkflowTurn): WorkflowState {
  if (!isRunning(state) || state.awaiting.kind !== 'child') return state;
  const { awaiting, ...run } = state;
  if (awaiting.effect_id !== result.effectId) return state;
  const { outcome } = result;
  const step = currentStep(run);
  const detached = step.kind === 'Subworkflow' && step.mode === 'fire_and_forget';
  const answered = { ...run, awaiting: { ...awaiting, effect_id: null } };
  // Its own word counts for more than that of its start.
  if (detached && awaiting.runs) return leaveChild(answered, turn);
  if (outcome.kind === 'done') {
    const started = Started.safeParse(outcome.value);
    return started.success ? meetChild(answered, started.data.workflow_id, turn) : answered;
  }
  release(answered.awaiting, 'its start failed', turn);
  const { code, message } =
    outcome.kind === 'failed' ? outcome : { code: 'in_doubt', message: 'nobody knows whether the child was started' };
  const reason = ancestryReason(message) ?? code;
  tellChildFailed(run, awaiting.execution_id, reason, turn);
  return finish(run, failed(reason, message, { result: null }), turn);
}
