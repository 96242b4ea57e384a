import type { ExecutionEvent } from './follow.ts';
import { textOf } from './json.ts';
import { outputInOneLine } from './live-view-model.ts';
import { type Paint, plain } from './paint.ts';
import { printable } from './printable.ts';

/** An event of a workflow as one line for people; null for what nobody wants to read. */
export function workflowEventLine({ name, payload }: ExecutionEvent, paint: Paint = plain): string | null {
  const state = printable(textOf(payload, 'state_name') || textOf(payload, 'parent_state_name'));
  const field = (key: string): string => printable(textOf(payload, key));
  switch (name) {
    case 'WorkflowExecutionStarted':
      return `execution ${field('execution_id')} of ${field('workflow_name')} ${field('workflow_version')} started`;
    case 'WorkflowStateEntered':
      return `${state}: entered (${field('kind')})`;
    case 'WorkflowStateExited':
      return exitLine(state, payload, paint);
    case 'WorkflowHumanInputRequested':
      return paint.yellow(`${state}: waits for a human: ${field('prompt')}`);
    case 'WorkflowHumanInputReceived':
      return `${state}: ${field('how')}: ${field('payload')}`;
    case 'ContainerRunFailed':
      return paint.yellow(`${state}: container failed: ${field('reason')}`);
    case 'SubworkflowTriggered':
      return `${state}: child execution ${field('child_execution_id')} (${field('mode')})`;
    case 'SubworkflowFailed':
      return paint.yellow(`${state}: child failed: ${field('reason')}`);
    // The events around them say the same of every run.
    case 'IntentExecutionPipelineStarted':
    case 'IntentExecutionPipelineCompleted':
    case 'IntentExecutionPipelineFailed':
      return null;
    case 'WorkflowExecutionCompleted':
      return paint.green('completed');
    case 'WorkflowExecutionFailed':
      return paint.red(`failed: ${field('error') || field('reason')}`);
    case 'WorkflowExecutionCancelled':
      return paint.red(`cancelled${field('reason') === '' ? '' : `: ${field('reason')}`}`);
    default:
      return state === '' ? name : `${state}: ${name}`;
  }
}

function exitLine(state: string, payload: ExecutionEvent['payload'], paint: Paint): string {
  const status = textOf(payload, 'status');
  const next = textOf(payload, 'next_state');
  const output = printable(outputInOneLine(payload.output));
  const words = `${state}: ${status}${next === '' ? '' : ` → ${next}`}${output === '' ? '' : paint.dim(`  ${output}`)}`;
  return status === 'failed' ? paint.red(words) : words;
}
