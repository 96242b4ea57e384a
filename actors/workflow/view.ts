import { type Address, tenantOf } from '../../runtime/address.ts';
import type { ActorClient, ActorSnapshot } from '../../runtime/client.ts';
import type { PageAsked } from '../../runtime/documents/pages.ts';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import { judgesWait } from '../../usecases/judge-panels.ts';
import {
  type OwnWait,
  turnWait,
  type WaitedEffect,
  type WaitLookups,
  type WaitReason,
  waitedEffects,
  withProgress,
} from '../../usecases/waits/wait-reason.ts';
import { outputOf } from './ending.ts';
import { own } from './json-values.ts';
import {
  type Awaiting,
  type AwaitingOf,
  type EndedWorkflow,
  isRunning,
  type RunningWorkflow,
  type WorkflowState,
} from './state.ts';

/** Collection behind the lists of workflow executions (R2). */
export const WORKFLOW_EXECUTIONS: CollectionSpec = {
  name: 'workflow_executions',
  unique: [],
  indexes: [
    ['removed', 'started_at'],
    // Lists filter by `removed`: with it in the index only the page is read.
    ['workflow_id', 'removed', 'started_at'],
    ['status', 'removed', 'started_at'],
  ],
  beside: ['owner'],
  counted: ['removed', 'workflow_id', 'status', 'owner'],
};

/** One run in lists. */
export interface WorkflowExecutionDocument extends StoredDocument {
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly workflow_version: string;
  readonly status: 'running' | 'waiting_for_human_input' | 'completed' | 'failed' | 'cancelled';
  readonly current_state: string | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly started_at: string;
  readonly last_transition_at: string;
  readonly ended_at: string | null;
  readonly removed: boolean;
  /** Subject that alone sees it, beside operators; absent: it is the tenant's. */
  readonly owner?: string;
}

export function projectWorkflow(
  state: WorkflowState,
  self: { readonly tenant: string; readonly id: string },
): Omit<WorkflowExecutionDocument, 'version'> | null {
  if (state.status === 'pending') return null;
  const ended = isRunning(state) ? null : state;
  return {
    tenant: self.tenant,
    id: self.id,
    workflow_id: state.workflow_id,
    workflow_name: state.workflow_name,
    workflow_version: state.workflow_version,
    status: state.status,
    current_state: state.current_state,
    reason: ended?.reason ?? null,
    error: ended?.error ?? null,
    started_at: state.started_at,
    last_transition_at: state.last_transition_at,
    ended_at: ended?.ended_at ?? null,
    removed: false,
    ...(state.owner === undefined ? {} : { owner: state.owner }),
  };
}

export type WorkflowStatus = 'running' | 'waiting_for_human_input' | 'completed' | 'failed' | 'cancelled';

/** Result of svc.workflow.status (W35). */
export interface WorkflowSummary {
  readonly execution_id: string;
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly workflow_version: string;
  readonly status: WorkflowStatus;
  readonly current_state: string | null;
  /** Code of a failure (`no_transition_matched` …), reason of a cancel. */
  readonly reason: string | null;
  /** The failure, for people. */
  readonly error: string | null;
  readonly started_at: string;
  readonly last_transition_at: string;
  readonly ended_at: string | null;
}

/** Which runs a list shows. */
export interface WorkflowFilter extends PageAsked {
  readonly workflowId?: string;
  readonly status?: string;
}

/** Result of svc.workflow.executions.get (W35). */
export interface WorkflowExecution extends WorkflowSummary {
  readonly intent: string | null;
  readonly input: Json;
  readonly blackboard: JsonObject;
  readonly state_outputs: JsonObject;
  readonly output: Json;
  /** What an unfinished one waits for. */
  readonly waiting_for?: WaitReason;
}

type Visible = RunningWorkflow | EndedWorkflow;

/** Above every revision of an actor, so that the projector never writes a removed run again. */
const REMOVED_VERSION = Number.MAX_SAFE_INTEGER;

/** From committed state, so a client reads its own writes (R2). */
export function summaryOf(state: Visible): WorkflowSummary {
  const ended = isRunning(state) ? null : state;
  return {
    execution_id: state.execution_id,
    workflow_id: state.workflow_id,
    workflow_name: state.workflow_name,
    workflow_version: state.workflow_version,
    status: state.status,
    current_state: state.current_state,
    reason: ended?.reason ?? null,
    error: ended?.error ?? null,
    started_at: state.started_at,
    last_transition_at: state.last_transition_at,
    ended_at: ended?.ended_at ?? null,
  };
}

export function executionOf(state: Visible): WorkflowExecution {
  return {
    ...summaryOf(state),
    intent: state.intent,
    input: state.input,
    blackboard: state.blackboard,
    state_outputs: stateOutputs(state),
    output: state.status === 'completed' ? outputOf(state.blackboard, state.current_state) : null,
  };
}

/** Blackboard entries of the entered states. */
function stateOutputs({ blackboard, visits }: Visible): JsonObject {
  const names = Object.keys(visits).filter((name) => Object.hasOwn(blackboard, name));
  return Object.fromEntries(names.map((name) => [name, own(blackboard, name) ?? null]));
}

/** From a list document. */
export function listed(document: WorkflowExecutionDocument): WorkflowSummary {
  const { id, tenant: _tenant, version: _version, removed: _removed, owner: _owner, ...rest } = document;
  return { execution_id: id, ...rest };
}

/** Says only that the id was removed: no text of the run stays in the collection. */
export function tombstone(tenant: string, state: EndedWorkflow): WorkflowExecutionDocument {
  return {
    tenant,
    id: state.execution_id,
    version: REMOVED_VERSION,
    workflow_id: state.workflow_id,
    workflow_name: '',
    workflow_version: '',
    status: state.status,
    current_state: null,
    reason: null,
    error: null,
    started_at: state.started_at,
    last_transition_at: state.ended_at,
    ended_at: state.ended_at,
    removed: true,
  };
}

/** Look-ups for `waiting_for`. */
export interface WorkflowWaitLookups extends WaitLookups {
  readonly client: Pick<ActorClient, 'isServed' | 'read'>;
  /** What a child waits for; undefined when it has ended or does not exist yet. */
  readonly childWait?: (kind: 'agent' | 'child', tenant: string, executionId: string) => Promise<OwnWait | undefined>;
}

/** From committed state, the members of the fleet and, when available, effects, judges and the child. */
export async function waitReason(
  lookups: WorkflowWaitLookups,
  run: RunningWorkflow,
  snapshot: Pick<ActorSnapshot, 'stuck'>,
  address: Address,
): Promise<WaitReason> {
  const state = run.current_state === null ? {} : { state_name: run.current_state };
  const turn = await turnWait(lookups, snapshot, address);
  if (turn !== undefined) return { ...turn, ...state };
  const effects = await waitedEffects(lookups, askedEffects(run.awaiting), address);
  return {
    ...(await whatFor(lookups, run.awaiting, effects, tenantOf(address))),
    ...state,
    ...(effects.length === 0 ? {} : { effects }),
    ...until(run),
  };
}

/** Effects that have not answered: id -> kind. */
function askedEffects(awaiting: Awaiting): Map<string, string> {
  const of = (id: string | null, kind: string) => new Map(id === null ? [] : [[id, kind]]);
  switch (awaiting.kind) {
    case 'volumes':
      return of(awaiting.effect_id, 'volumes.prepare');
    case 'agent':
      return of(awaiting.effect_id, 'agent.start');
    case 'child':
      return of(awaiting.effect_id, 'workflow.start');
    case 'command':
      return of(awaiting.effect_id, 'command.run');
    case 'container':
      return of(awaiting.effect_id, 'container.run');
    case 'containers':
      return new Map(Object.values(awaiting.effects).map((id) => [id, 'container.run']));
    default:
      return new Map();
  }
}

async function whatFor(
  lookups: WorkflowWaitLookups,
  awaiting: Awaiting,
  effects: readonly WaitedEffect[],
  tenant: string,
): Promise<WaitReason> {
  switch (awaiting.kind) {
    case 'volumes':
      return { kind: 'volumes', reason: withProgress('waiting for its volumes', effects) };
    case 'turn':
      return { kind: 'turn', reason: `about to enter state ${awaiting.target}` };
    case 'agent':
    case 'child':
      return childWait(lookups, awaiting, effects, tenant);
    case 'panel':
      return judgesWait(lookups.client, awaiting, tenant);
    case 'command':
      return { kind: 'effect', reason: withProgress('waiting for a command', effects) };
    case 'container':
      if (awaiting.retry_at !== null)
        return { kind: 'timer', reason: `attempt ${awaiting.attempt} of its container starts at ${awaiting.retry_at}` };
      return {
        kind: 'effect',
        reason: withProgress(`waiting for run ${awaiting.attempt} of its container`, effects),
      };
    case 'containers':
      return { kind: 'effect', reason: `waiting for the containers of ${Object.keys(awaiting.effects).join(', ')}` };
    case 'approval':
      return {
        kind: 'approval',
        reason: awaiting.opened ? 'waiting for a human' : 'its approval is being opened',
        approval_id: awaiting.approval_id,
      };
  }
}

async function childWait(
  lookups: WorkflowWaitLookups,
  { kind, execution_id }: AwaitingOf<'agent'> | AwaitingOf<'child'>,
  effects: readonly WaitedEffect[],
  tenant: string,
): Promise<WaitReason> {
  const whom = kind === 'agent' ? 'an agent' : 'a child workflow';
  const child = await lookups.childWait?.(kind, tenant, execution_id);
  // A running child's own wait says more than the effect that started it.
  const reason =
    child === undefined && effects.length > 0 ? withProgress(`starting ${whom}`, effects) : `waiting for ${whom}`;
  const ids = { child_execution_ids: [execution_id] };
  return { kind: 'child', reason, ...ids, ...(child === undefined ? {} : { child }) };
}

function until({ awaiting, manifest, current_state, last_transition_at }: RunningWorkflow): { until?: string } {
  if (awaiting.kind === 'container' && awaiting.retry_at !== null) return { until: awaiting.retry_at };
  if (awaiting.kind === 'turn' || awaiting.kind === 'volumes') return {};
  // The question whether to repeat a command has no time-out.
  if (awaiting.kind === 'approval' && awaiting.about.kind === 'repeat') return {};
  const timeoutMs = own(manifest.spec.states, current_state ?? '')?.timeout_ms ?? null;
  return timeoutMs === null ? {} : { until: new Date(Date.parse(last_transition_at) + timeoutMs).toISOString() };
}
