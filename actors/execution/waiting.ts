import type { ActorClient } from '../../runtime/client.ts';
import { poolOfTags } from '../../runtime/placement.ts';
import type { StartExecution } from './start-request.ts';
import type { ExecutionDocument } from './view.ts';

/** Why an execution has not started: no node may serve it (design P1). */
export interface WaitingFor {
  readonly tags: readonly string[];
  /** For people. */
  readonly reason: string;
}

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

/** What a pending execution waits for; undefined when a node that may serve it is there. */
export async function waitingFor(
  client: Pick<ActorClient, 'isServed'>,
  { status, waiting_tags }: ExecutionDocument,
): Promise<WaitingFor | undefined> {
  if (status !== 'pending' || waiting_tags === undefined) return undefined;
  if (await client.isServed(poolOfTags(waiting_tags))) return undefined;
  const whom = waiting_tags.length === 0 ? 'a worker' : `a node with tags ${waiting_tags.join(', ')}`;
  return { tags: waiting_tags, reason: `waiting for ${whom}` };
}
