import { type Address, tenantOf } from '../../runtime/address.ts';
import type { ActorClient, ActorSnapshot } from '../../runtime/client.ts';
import { judgesWait } from '../judge-panel/waiting.ts';
import { nodeWait, turnWait, type WaitLookups, type WaitReason, waitedEffects, withProgress } from '../wait-reason.ts';
import type { StartExecution } from './start-request.ts';
import type { RunningExecution } from './state.ts';
import { endOfIteration } from './time-left.ts';
import type { ExecutionDocument } from './view.ts';

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
  const [id, kind, what] = awaitedEffect(running);
  const effects = await waitedEffects(lookups, new Map([[id, kind]]), address);
  const reason = `iteration ${running.iteration_count} waits for its ${what}`;
  return { kind: 'effect', reason: withProgress(reason, effects), effects, until: until(running) };
}

/** Id, kind, and what people call it. */
function awaitedEffect({ current, plan }: RunningExecution): readonly [string, string, string] {
  if (current.judging?.by.kind === 'model') return [current.judging.by.effect_id, 'model.generate', 'judge'];
  return plan.program === null
    ? [current.effect_id, 'model.generate', 'model']
    : [current.effect_id, 'program.run', 'program'];
}

const until = (running: RunningExecution): string => new Date(endOfIteration(running)).toISOString();
