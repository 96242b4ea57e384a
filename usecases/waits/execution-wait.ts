import { endOfIteration } from '../../actors/execution/ending.ts';
import type { StartExecution } from '../../actors/execution/messages.ts';
import type { RunningExecution } from '../../actors/execution/state.ts';
import type { ExecutionDocument } from '../../actors/execution/view.ts';
import { type Address, tenantOf } from '../../runtime/address.ts';
import type { ActorClient, ActorSnapshot } from '../../runtime/client.ts';
import { ownerPart } from '../../runtime/identity.ts';
import { judgesWait } from '../judge-panels.ts';
import { nodeWait, turnWait, type WaitLookups, type WaitReason, waitedEffects, withProgress } from './wait-reason.ts';

const WAITING_VERSION = 0;

/**
 * How an execution stands in lists until its actor has handled the start. Below every revision of an actor, so that
 * the projector writes over it.
 */
export function waitingDocument(request: StartExecution, tags: readonly string[], at: string): ExecutionDocument {
  return {
    tenant: request.identity.tenant,
    id: request.executionId,
    version: WAITING_VERSION,
    agent_id: request.agentId,
    agent_name: request.manifest.metadata.name,
    agent_version: request.manifest.metadata.version,
    status: 'pending',
    iteration_count: 0,
    started_at: at,
    ended_at: null,
    updated_at: at,
    last_error: null,
    last_output: null,
    reason: null,
    usage: { input_tokens: 0, output_tokens: 0, cost: 0 },
    in_doubt: 0,
    workflow_execution_id: request.workflowExecutionId ?? null,
    removed: false,
    ...ownerPart(request.identity),
    waiting_tags: tags,
  };
}

/** What a pending execution waits for; undefined when a node that may serve it is there, and for any other. */
export async function waitingFor(
  client: WaitLookups['client'],
  { status, waiting_tags }: ExecutionDocument,
): Promise<WaitReason | undefined> {
  if (status !== 'pending' || waiting_tags === undefined) return undefined;
  return nodeWait(client, waiting_tags);
}

/** What a pending execution waits for when a node that may serve it is there. */
export const aboutToStart: WaitReason = { kind: 'turn', reason: 'about to start' };

/** Where what others do for an execution is looked up. */
interface ExecutionWaitLookups extends WaitLookups {
  readonly client: Pick<ActorClient, 'isServed' | 'read'>;
}

/** What a running execution waits for: somebody to serve it, the effect of its iteration, or the judges of its result. */
export async function executionWait(
  lookups: ExecutionWaitLookups,
  running: RunningExecution,
  snapshot: Pick<ActorSnapshot, 'stuck'>,
  address: Address,
): Promise<WaitReason> {
  const turn = await turnWait(lookups, snapshot, address);
  if (turn !== undefined) return turn;
  const by = running.current.judging?.by;
  if (by?.kind === 'panel') {
    const wait = await judgesWait(lookups.client, by, tenantOf(address));
    return { ...wait, reason: `iteration ${running.iteration_count}: ${wait.reason}`, until: until(running) };
  }
  const panel = judgedCall(running);
  if (panel !== undefined) {
    const wait = await judgesWait(lookups.client, panel, tenantOf(address));
    const reason = `${placeOf(running)}: the judges of tool call ${panel.name}: ${wait.reason}`;
    return { ...wait, reason, until: until(running) };
  }
  const { ids, what } = awaitedEffects(running);
  const effects = await waitedEffects(lookups, ids, address);
  const reason = `${placeOf(running)} waits for its ${what}`;
  return { kind: 'effect', reason: withProgress(reason, effects), effects, until: until(running) };
}

function judgedCall({ current, plan }: RunningExecution) {
  const call = current.loop?.calls.find(({ status }) => status === 'judging');
  const check = call === undefined ? undefined : plan.tool_checks[call.judged];
  if (call?.panel_id === undefined || check === undefined) return undefined;
  return { panel_id: call.panel_id, judges: check.judges.length, name: call.name };
}

/** `iteration 2`, or `iteration 2, round 3` in the inner loop. */
function placeOf({ iteration_count, current }: RunningExecution): string {
  const { loop } = current;
  const inLoop =
    loop !== undefined && current.judging === undefined && loop.phase !== 'final' && loop.phase !== 'failed';
  return inLoop && loop.round > 0
    ? `iteration ${iteration_count}, round ${loop.round}`
    : `iteration ${iteration_count}`;
}

interface Awaited {
  /** Effect id to kind. */
  readonly ids: ReadonlyMap<string, string>;
  /** What people call it. */
  readonly what: string;
}

const one = (id: string, kind: string, what: string): Awaited => ({ ids: new Map([[id, kind]]), what });

function awaitedEffects(running: RunningExecution): Awaited {
  const { current, plan } = running;
  const { memory } = current;
  if (memory?.for === 'hints') return one(memory.effect_id, 'pattern.query', 'learned patterns');
  if (memory?.for === 'stored') return one(memory.effect_id, 'pattern.store', 'pattern to be stored');
  if (current.judging?.by.kind === 'model') return one(current.judging.by.effect_id, 'model.generate', 'judge');
  const inLoop = loopAwaited(running);
  if (inLoop !== undefined) return inLoop;
  if (plan.container !== null) return one(current.effect_id, 'agent.container', 'container');
  return plan.program === null
    ? one(current.effect_id, 'model.generate', 'model')
    : one(current.effect_id, 'program.run', 'program');
}

function loopAwaited({ current }: RunningExecution): Awaited | undefined {
  const { loop } = current;
  if (loop === undefined) return undefined;
  if (loop.phase === 'granting' && loop.effect_id !== null) return one(loop.effect_id, 'tools.grant', 'tools');
  if (loop.phase === 'model' && loop.effect_id !== null) return one(loop.effect_id, 'model.generate', 'model');
  const running = loop.calls.filter(({ status }) => status === 'running');
  if (running.length === 0) {
    const dispatched = loop.calls.find(({ status }) => status === 'dispatched');
    return dispatched === undefined
      ? undefined
      : { ids: new Map(), what: `bootstrap, which has ${dispatched.name} to run` };
  }
  const ids = new Map(running.map(({ effect_id = '' }) => [effect_id, 'tool.call']));
  return { ids, what: `tool call ${running.map(({ name }) => name).join(', ')}` };
}

const until = (running: RunningExecution): string => new Date(endOfIteration(running)).toISOString();
