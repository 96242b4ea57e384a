import { type Address, addressOf } from '../../runtime/address.ts';
import type { ActorSnapshot } from '../../runtime/client.ts';
import type { Collection, Condition } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json, JsonObject } from '../../runtime/json.ts';
import type { ExecutionApi, ExecutionClient, ExecutionStatus, StartExecution } from './api.ts';
import { executionLogEvents } from './log.ts';
import { type EndedExecution, ExecutionState, type RunningExecution } from './state.ts';
import type { ExecutionDocument } from './view.ts';

const MAX_LOG_EVENTS = 200;
/** Above every revision of an actor, so that the projector never writes a removed execution again. */
const REMOVED_VERSION = Number.MAX_SAFE_INTEGER;

/** What a caller may see: started, and not removed. */
interface Visible {
  readonly address: Address;
  readonly snapshot: ActorSnapshot;
  readonly state: RunningExecution | EndedExecution;
}

/** The area's api over messages, committed states and the `executions` collection (view.ts names it). */
export function createExecutionApi(parts: {
  readonly client: ExecutionClient;
  readonly executions: Collection<ExecutionDocument>;
}): ExecutionApi {
  const { client, executions } = parts;

  async function visible(tenant: string, executionId: string): Promise<Visible> {
    const address = addressOf('execution', tenant, executionId);
    const snapshot = await client.read(address);
    const state = snapshot === null ? null : ExecutionState.parse(snapshot.state);
    if (snapshot === null || state === null || state.status === 'pending') throw notFound();
    const removed = state.status !== 'running' && (await executions.get(tenant, executionId))?.removed === true;
    if (removed) throw notFound();
    return { address, snapshot, state };
  }

  return {
    async start(request) {
      const address = addressOf('execution', request.identity.tenant, request.executionId);
      await client.ask(address, 'Start', startPayload(request), { identity: request.identity });
      return { execution_id: request.executionId };
    },

    async status(tenant, executionId) {
      const { state, snapshot } = await visible(tenant, executionId);
      return statusOf(state, snapshot);
    },

    async events(tenant, executionId, after, limit) {
      const { address } = await visible(tenant, executionId);
      return client.events(address, after, limit);
    },

    async *follow(tenant, executionId, after, options) {
      const { address } = await visible(tenant, executionId);
      yield* client.follow(address, after, options);
    },

    async logs(tenant, executionId, page) {
      const { address, snapshot, state } = await visible(tenant, executionId);
      const limit = Math.min(Math.max(1, page.limit), MAX_LOG_EVENTS);
      const events = await client.events(address, Math.max(0, page.offset), limit);
      return { status: state.status, events: executionLogEvents(events), total: snapshot.lastEvent };
    },

    async cancel(tenant, executionId, options) {
      const { address, state } = await visible(tenant, executionId);
      if (state.status !== 'running') throw ended(state.status);
      try {
        await client.ask(address, 'Cancel', {}, options);
      } catch (thrown) {
        // It ended and was archived between the two calls.
        if (thrown instanceof SvcError && thrown.code === 'not_found') {
          const now = await visible(tenant, executionId);
          throw ended(now.state.status);
        }
        throw thrown;
      }
    },

    async list(tenant, filter) {
      const where: Record<string, Condition> = { removed: false };
      if (filter.agentId !== undefined) where.agent_id = filter.agentId;
      if (filter.status !== undefined) where.status = filter.status;
      const found = await executions.find({
        tenant,
        where,
        sort: [
          ['started_at', 'desc'],
          ['id', 'desc'],
        ],
        limit: filter.limit,
        ...(filter.skip === undefined ? {} : { skip: filter.skip }),
      });
      return found.map(listed);
    },

    async remove(tenant, executionId) {
      const { state, snapshot } = await visible(tenant, executionId);
      if (state.status === 'running') {
        throw new SvcError('failed_precondition', 'the execution is still running: cancel it first');
      }
      await executions.put(tombstone(tenant, executionId, statusOf(state, snapshot)));
    },
  };
}

function startPayload(request: StartExecution): JsonObject {
  return {
    execution_id: request.executionId,
    agent_id: request.agentId,
    manifest: plain(request.manifest),
    input: request.input,
    ...(request.context === undefined ? {} : { context: request.context }),
    ...(request.securityPolicy === undefined ? {} : { security_policy: request.securityPolicy }),
    ...(request.workflowExecutionId === undefined ? {} : { workflow_execution_id: request.workflowExecutionId }),
  };
}

/** A manifest is plain data whose optional fields may be present and undefined; JSON has no undefined. */
function plain(manifest: StartExecution['manifest']): Json {
  const json: Json = JSON.parse(JSON.stringify(manifest));
  return json;
}

function statusOf(state: RunningExecution | EndedExecution, snapshot: ActorSnapshot): ExecutionStatus {
  const { stuck } = snapshot;
  const stuckText = stuck === null ? null : `${stuck.messageType} keeps failing: ${stuck.error}`;
  return {
    execution_id: state.execution_id,
    agent_id: state.agent_id,
    status: state.status,
    iteration_count: state.iteration_count,
    last_output: state.last_output,
    last_error: stuckText ?? state.last_error,
    started_at: state.started_at,
    ended_at: state.status === 'running' ? null : state.ended_at,
    usage: state.usage,
    ...(state.in_doubt > 0 ? { in_doubt: state.in_doubt } : {}),
  };
}

function listed(document: ExecutionDocument): ExecutionStatus {
  const { agent_id, status, iteration_count, last_output, last_error, started_at, ended_at, usage } = document;
  const doubts = document.in_doubt > 0 ? { in_doubt: document.in_doubt } : {};
  const execution_id = document.id;
  return {
    execution_id,
    agent_id,
    status,
    iteration_count,
    last_output,
    last_error,
    started_at,
    ended_at,
    usage,
    ...doubts,
  };
}

/** Keeps only what tells that the id was removed: no text of the run stays in the collection. */
function tombstone(tenant: string, id: string, status: ExecutionStatus): ExecutionDocument {
  return {
    tenant,
    id,
    version: REMOVED_VERSION,
    agent_id: status.agent_id,
    agent_name: '',
    agent_version: '',
    status: status.status === 'pending' ? 'failed' : status.status,
    iteration_count: status.iteration_count,
    started_at: status.started_at ?? '',
    ended_at: status.ended_at,
    updated_at: status.ended_at ?? '',
    last_error: null,
    last_output: null,
    reason: null,
    usage: status.usage,
    in_doubt: 0,
    workflow_execution_id: null,
    removed: true,
  };
}

const notFound = (): SvcError => new SvcError('not_found', 'execution not found');
const ended = (status: string): SvcError => new SvcError('failed_precondition', `the execution is ${status} already`);
