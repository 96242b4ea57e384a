import { own } from '../../actors/workflow/json-values.ts';
import type { Awaiting, AwaitingOf, RunningWorkflow } from '../../actors/workflow/state.ts';
import { type Address, tenantOf } from '../../runtime/address.ts';
import type { ActorClient, ActorSnapshot } from '../../runtime/client.ts';
import { judgesWait } from '../judge-panels.ts';
import {
  type OwnWait,
  turnWait,
  type WaitedEffect,
  type WaitLookups,
  type WaitReason,
  waitedEffects,
  withProgress,
} from './wait-reason.ts';
/** Lookups for `waiting_for`. */
export interface WorkflowWaitLookups extends WaitLookups {
  readonly client: Pick<ActorClient, 'isServed' | 'read'>;
  /** The wait of a child; undefined when it has ended or does not exist yet. */
  readonly childWait?: (kind: 'agent' | 'child', tenant: string, executionId: string) => Promise<OwnWait | undefined>;
}

/**
 * What a workflow run waits for, from its committed state, the members of the fleet and, when available, effects,
 * judges and the child.
 */
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

/** Effects without a result: id -> kind. */
export function askedEffects(awaiting: Awaiting): Map<string, string> {
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

export function until({ awaiting, manifest, current_state, last_transition_at }: RunningWorkflow): { until?: string } {
  if (awaiting.kind === 'container' && awaiting.retry_at !== null) return { until: awaiting.retry_at };
  if (awaiting.kind === 'turn' || awaiting.kind === 'volumes') return {};
  // An approval that asks whether to repeat a command has no time-out.
  if (awaiting.kind === 'approval' && awaiting.about.kind === 'repeat') return {};
  const timeoutMs = own(manifest.spec.states, current_state ?? '')?.timeout_ms ?? null;
  return timeoutMs === null ? {} : { until: new Date(Date.parse(last_transition_at) + timeoutMs).toISOString() };
}
