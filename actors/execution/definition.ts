import type { ToolPolicy } from '../../manifests/tool/decision.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { isJsonObject, type Json } from '../../runtime/json.ts';
import { executionEvents } from './events.ts';
import { Attest } from './handlers/attest.ts';
import { forked } from './handlers/fork.ts';
import { ModelJudged, PanelEnded } from './handlers/judges.ts';
import { MemoryAnswered, MemoryTimedOut } from './handlers/memory.ts';
import { ModelChunk, modelAnswered } from './handlers/model.ts';
import { ProgramChunk, ProgramEnded } from './handlers/program.ts';
import { ContextRead, Start } from './handlers/start.ts';
import { Cancel, ExecutionTimedOut, IterationTimedOut } from './handlers/stop.ts';
import { WorkerEnded, WorkerSaid } from './handlers/worker.ts';
import { FilesRead, ScriptEnded } from './handlers/workspace-checks.ts';
import { DispatchEnded, ToolEnded } from './inner-loop/call-ended.ts';
import { Generate, ToolsGranted } from './inner-loop/generate.ts';
import { executionMessages, parentOf } from './messages.ts';
import { ExecutionState } from './state.ts';
import { EXECUTIONS, projectExecution } from './view.ts';

/**
 * One run of an agent: pending → running → completed | failed | cancelled (W24). Each iteration's result passes the
 * validators and is accepted, or the next iteration refines it, until iterations or time run out. `policy` decides
 * about tool calls; it is pure and the same on every node.
 */
export const executionActor = ({ policy }: { readonly policy: ToolPolicy }) =>
  defineActor({
    kind: 'execution',
    version: 9,
    state: ExecutionState,
    migrate,
    initial: () => ({ status: 'pending' as const }),
    messages: executionMessages,
    events: executionEvents,
    on: {
      Start,
      Fork: forked(migrate),
      Cancel,
      IterationTimedOut,
      ExecutionTimedOut,
      ModelAnswered: modelAnswered(policy),
      ModelChunk,
      ProgramEnded,
      ProgramChunk,
      WorkerSaid,
      WorkerEnded,
      PanelWord: PanelEnded,
      ModelJudged,
      FilesRead,
      ScriptEnded,
      ContextRead,
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
    creates: ['Start', 'Fork'],
    finalEvents: ['execution_completed', 'execution_failed'],
    view: {
      collection: EXECUTIONS.name,
      indexes: EXECUTIONS.indexes,
      // A pending execution may have no actor yet.
      open: { status: 'running' },
      isInFeed: true,
      isLocated: true,
      project: projectExecution,
    },
    done: (state) => state.status !== 'pending' && state.status !== 'running',
    belongsTo: parentOf,
  });

/** Denies every tool call: for fleets without tools. */
const noTools: ToolPolicy = {
  decide: (_grant, { name }) => ({
    allowed: false,
    reason: 'ToolNotAllowed',
    message: `no tool ${name} is offered here`,
  }),
};

export const execution = executionActor({ policy: noTools });

/** States of version 1 have no tools and containers; those of versions 2 to 8 lack only optional fields and kinds. */
function migrate(state: Json, fromVersion: number): Json {
  if (fromVersion >= 2 || !isJsonObject(state) || state.status === 'pending') return state;
  const counted = { ...state, tool_calls_executed: 0, calls_in_doubt: [] };
  if (state.status !== 'running' || !isJsonObject(state.plan)) return counted;
  const tools = { manifest: [], network: null, filesystem: null };
  const plan = { ...state.plan, tool_checks: [], tools, container: null };
  return { ...counted, plan, sessions: [], tool_history: [] };
}
