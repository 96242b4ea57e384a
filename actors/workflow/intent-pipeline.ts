import { isJsonObject, type Json } from '../../runtime/json.ts';
import { keepHead } from '../execution/bounded-text.ts';
import { own } from './json-values.ts';
import { LIMITS } from './limits.ts';
import type { WorkflowTurn } from './messages.ts';
import type { EndedWorkflow, IdleWorkflow } from './state.ts';

/** Texts in events are cut like a state's output. */
const shown = (text: string): string => keepHead(text, LIMITS.eventOutputBytes / 4);

/** Result of a completed pipeline, from the output of its last state. */
export function pipelineResult(output: Json): {
  readonly final_result: string;
  readonly reused_existing_agent: boolean;
} {
  const text = (key: string): string => {
    const value = isJsonObject(output) ? own(output, key) : undefined;
    return typeof value === 'string' ? value : '';
  };
  const end = text('cut') === 'yes' ? '\n[cut: the program printed more than is kept]' : '';
  return {
    final_result: `${text('final_result')}${end}`,
    reused_existing_agent: text('reused_existing_agent') === 'yes',
  };
}

export function emitPipelineStarted({ pipeline, execution_id, intent, started_at }: IdleWorkflow, turn: WorkflowTurn) {
  if (pipeline === undefined) return;
  const { language, workspace_volume_id } = pipeline;
  const started = { execution_id, intent: shown(intent ?? ''), language, workspace_volume_id, started_at };
  turn.emit('IntentExecutionPipelineStarted', started);
}

/** Emitted before the last event of the run. A cancelled pipeline counts as failed. */
export function emitPipelineEnded(
  { pipeline, execution_id, current_state: failed_at_state, started_at }: IdleWorkflow,
  { status, reason, output }: Pick<EndedWorkflow, 'status' | 'reason'> & { readonly output: Json },
  turn: WorkflowTurn,
): void {
  if (pipeline === undefined) return;
  const at = new Date(turn.now).toISOString();
  if (status !== 'completed') {
    const failed = { execution_id, failed_at_state, reason: reason ?? status, failed_at: at };
    turn.emit('IntentExecutionPipelineFailed', failed);
    return;
  }
  const { final_result, reused_existing_agent } = pipelineResult(output);
  const { agent_similarity_score } = pipeline;
  turn.emit('IntentExecutionPipelineCompleted', {
    execution_id,
    final_result: shown(final_result),
    duration_ms: turn.now - Date.parse(started_at),
    reused_existing_agent,
    agent_similarity_score: reused_existing_agent ? agent_similarity_score : undefined,
    completed_at: at,
  });
}
