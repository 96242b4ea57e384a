import { defineActor } from '../../runtime/define-actor.ts';
import { workflowEvents } from './events.ts';
import { Cancel, StateTimedOut } from './handlers/cancel.ts';
import { AgentStarted, AgentWord, ApprovalWord, ChildStarted, ChildWord, PanelWord } from './handlers/children.ts';
import { CommandEnded, ContainerEnded, Continue, RetryContainer, VolumesPrepared } from './handlers/effects-ended.ts';
import { start } from './handlers/start.ts';
import { LIMITS } from './limits.ts';
import { workflowMessages } from './messages.ts';
import { isRunning, WorkflowState } from './state.ts';
import { projectWorkflow, WORKFLOW_EXECUTIONS } from './view.ts';

/**
 * One run of a workflow manifest (spec 3): pending → running ⇄ waiting_for_human_input → completed | failed | cancelled.
 * It waits for one thing at a time, an effect or another actor; `maxTransitions` bounds a run that loops (decided.md).
 */
export const workflowActor = ({ maxTransitions = LIMITS.transitions }: { readonly maxTransitions?: number } = {}) =>
  defineActor({
    kind: 'workflow',
    version: 2,
    state: WorkflowState,
    // Version 1 knew no owners and no pipelines: what it wrote has none.
    migrate: (state) => state,
    initial: () => ({ status: 'pending' as const }),
    messages: workflowMessages,
    events: workflowEvents,
    fairnessKey: (state) => (state.status === 'pending' ? null : state.workflow_id),
    on: {
      Start: start({ maxTransitions }),
      Cancel,
      Continue,
      StateTimedOut,
      RetryContainer,
      VolumesPrepared,
      CommandEnded,
      ContainerEnded,
      AgentStarted,
      ChildStarted,
      AgentWord,
      ChildWord,
      PanelWord,
      ApprovalWord,
    },
    creates: ['Start'],
    finalEvents: ['WorkflowExecutionCompleted', 'WorkflowExecutionFailed', 'WorkflowExecutionCancelled'],
    view: { collection: WORKFLOW_EXECUTIONS.name, indexes: WORKFLOW_EXECUTIONS.indexes, project: projectWorkflow },
    done: (state) => state.status !== 'pending' && !isRunning(state),
    belongsTo: (state) => (state.status === 'pending' ? null : (state.notify?.to ?? null)),
  });
