import type { Address } from '../../runtime/address.ts';
import type { ActorClient, ActorSnapshot } from '../../runtime/client.ts';
import type { EffectRow } from '../../runtime/effect-ledger.ts';
import { poolOfTags } from '../../runtime/placement.ts';
import type { Awaiting } from './awaiting.ts';
import { own } from './json-field.ts';
import type { RunningWorkflow } from './state.ts';

/** What an unfinished execution waits for, in one call. `reason` is for people. */
export interface WaitReason {
  readonly kind: 'node' | 'timer' | 'approval' | 'child' | 'judges' | 'effect' | 'volumes' | 'turn';
  readonly reason: string;
  readonly state_name?: string;
  readonly tags?: readonly string[];
  readonly approval_id?: string;
  readonly child_execution_ids?: readonly string[];
  readonly effects?: readonly {
    readonly effect_id: string;
    readonly kind: string;
    /** `open`: no runner has it; `started`: attempt `attempt` runs on `runner`; `retrying` until `retry_at`. */
    readonly status: 'open' | 'started' | 'retrying';
    readonly attempt: number;
    readonly runner?: string;
    readonly retry_at?: string;
  }[];
  /** When a timer of its own ends the wait: retry pause or state time-out. */
  readonly until?: string;
}

type WaitedEffect = NonNullable<WaitReason['effects']>[number];

/** From committed state, the members of the fleet and, when they can be had, the records of its effects. */
export async function waitReason(
  client: Pick<ActorClient, 'isServed'>,
  run: RunningWorkflow,
  snapshot: Pick<ActorSnapshot, 'stuck'>,
  effects: ((address: Address) => Promise<readonly EffectRow[]>) | undefined,
  address: Address,
): Promise<WaitReason> {
  const state = run.current_state === null ? {} : { state_name: run.current_state };
  const { stuck } = snapshot;
  if (stuck !== null) return { kind: 'turn', reason: `${stuck.messageType} keeps failing: ${stuck.error}`, ...state };
  if (!(await client.isServed(poolOfTags([]))))
    return { kind: 'node', reason: 'waiting for a worker', tags: [], ...state };
  const asked = askedEffects(run.awaiting);
  const rows = asked.size === 0 || effects === undefined ? [] : await effects(address);
  const waited = [...asked].map(([id, kind]) =>
    waitedEffect(
      id,
      kind,
      rows.find((row) => row.id === id),
    ),
  );
  return {
    ...whatFor(run.awaiting),
    ...state,
    ...(waited.length === 0 ? {} : { effects: waited }),
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

function waitedEffect(effect_id: string, kind: string, row: EffectRow | undefined): WaitedEffect {
  if (row === undefined) return { effect_id, kind, status: 'open', attempt: 0 };
  const { attempt } = row;
  if (row.status === 'started') return { effect_id, kind, status: 'started', attempt, runner: row.runner };
  // Open after an attempt: its pause is on the record.
  if (attempt === 0) return { effect_id, kind, status: 'open', attempt };
  return { effect_id, kind, status: 'retrying', attempt, retry_at: new Date(row.until).toISOString() };
}

function whatFor(awaiting: Awaiting): Pick<WaitReason, 'kind' | 'reason' | 'approval_id' | 'child_execution_ids'> {
  switch (awaiting.kind) {
    case 'volumes':
      return { kind: 'volumes', reason: 'waiting for its volumes' };
    case 'turn':
      return { kind: 'turn', reason: `about to enter state ${awaiting.target}` };
    case 'agent':
      return { kind: 'child', reason: 'waiting for an agent', child_execution_ids: [awaiting.execution_id] };
    case 'child':
      return { kind: 'child', reason: 'waiting for a child workflow', child_execution_ids: [awaiting.execution_id] };
    case 'panel':
      return { kind: 'judges', reason: `waiting for the verdict of ${awaiting.judges} judges` };
    case 'command':
      return { kind: 'effect', reason: 'waiting for a command' };
    case 'container':
      if (awaiting.retry_at !== null)
        return { kind: 'timer', reason: `attempt ${awaiting.attempt} of its container starts at ${awaiting.retry_at}` };
      return { kind: 'effect', reason: `waiting for attempt ${awaiting.attempt} of its container` };
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

function until({ awaiting, manifest, current_state, last_transition_at }: RunningWorkflow): { until?: string } {
  if (awaiting.kind === 'container' && awaiting.retry_at !== null) return { until: awaiting.retry_at };
  if (awaiting.kind === 'turn' || awaiting.kind === 'volumes') return {};
  // Whether a command is repeated may be said at any time.
  if (awaiting.kind === 'approval' && awaiting.about.kind === 'repeat') return {};
  const timeoutMs = own(manifest.spec.states, current_state ?? '')?.timeout_ms ?? null;
  return timeoutMs === null ? {} : { until: new Date(Date.parse(last_transition_at) + timeoutMs).toISOString() };
}
