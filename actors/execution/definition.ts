import type { ToolPolicy } from '../../manifests/tool/decision.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { executionEvents } from './events.ts';
import { Attest } from './handlers/attest.ts';
import { Cancel } from './handlers/cancel.ts';
import { ExecutionTimedOut } from './handlers/execution-timed-out.ts';
import { IterationTimedOut } from './handlers/iteration-timed-out.ts';
import { modelAnswered } from './handlers/model-answered.ts';
import { ModelChunk } from './handlers/model-chunk.ts';
import { ModelJudged } from './handlers/model-judged.ts';
import { PanelWord } from './handlers/panel-word.ts';
import { ProgramChunk } from './handlers/program-chunk.ts';
import { ProgramEnded } from './handlers/program-ended.ts';
import { Start } from './handlers/start.ts';
import { DispatchEnded } from './inner-loop/handlers/dispatch-ended.ts';
import { Generate } from './inner-loop/handlers/generate.ts';
import { ToolEnded } from './inner-loop/handlers/tool-ended.ts';
import { ToolsGranted } from './inner-loop/handlers/tools-granted.ts';
import { MemoryAnswered, MemoryTimedOut } from './memory/answered.ts';
import { executionMessages } from './messages.ts';
import { migrate } from './migrate.ts';
import { parentOf } from './parent.ts';
import { ExecutionState } from './state.ts';
import { EXECUTIONS, projectExecution } from './view.ts';

/**
 * One run of an agent: pending → running → completed | failed | cancelled (spec 3). Its loop is decided.md's:
 * iteration → validators → accepted, or refined and tried again until iterations or time run out. `policy` decides about
 * tool calls; it is pure and the same on every node.
 */
export const executionActor = ({ policy }: { readonly policy: ToolPolicy }) =>
  defineActor({
    kind: 'execution',
    version: 3,
    state: ExecutionState,
    migrate,
    initial: () => ({ status: 'pending' as const }),
    messages: executionMessages,
    events: executionEvents,
    on: {
      Start,
      Cancel,
      IterationTimedOut,
      ExecutionTimedOut,
      ModelAnswered: modelAnswered(policy),
      ModelChunk,
      ProgramEnded,
      ProgramChunk,
      PanelWord,
      ModelJudged,
      ToolsGranted,
      ToolEnded,
      MemoryAnswered,
      MemoryTimedOut,
      Generate,
      DispatchEnded,
      Attest,
    },
    placed: true,
    fairnessKey: (state) => (state.status === 'pending' ? null : state.agent_id),
    creates: ['Start'],
    finalEvents: ['execution_completed', 'execution_failed'],
    view: { collection: EXECUTIONS.name, indexes: EXECUTIONS.indexes, project: projectExecution },
    done: (state) => state.status !== 'pending' && state.status !== 'running',
    belongsTo: parentOf,
  });

/** Lets no tool be called: for fleets without tools. */
const noTools: ToolPolicy = {
  decide: (_grant, { name }) => ({
    allowed: false,
    reason: 'ToolNotAllowed',
    message: `no tool ${name} is offered here`,
  }),
};

export const execution = executionActor({ policy: noTools });
