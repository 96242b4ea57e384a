import { type Address, addressOf } from '../../runtime/address.ts';
import type { ActorClient, ActorEvent, ActorSnapshot, CallOptions } from '../../runtime/client.ts';
import type { Collection, Condition } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type ExecutionLogEvent, executionLogEvents } from './log.ts';
import { fitToNode, type NodeOffer } from './node-fit.ts';
import { type StartExecution, startPayload } from './start-request.ts';
import { type EndedExecution, ExecutionState, type RunningExecution } from './state.ts';
import { type ExecutionStatus, listed, statusOf, tombstone } from './status.ts';
import { EXECUTIONS, type ExecutionDocument } from './view.ts';

export type { ExecutionStatus, StartExecution };
export { EXECUTIONS, type ExecutionDocument, type ExecutionLogEvent, executionLogEvents };

/** The area's public surface: what transports, CLI views and tools call. Implemented over ActorClient. */
export interface ExecutionApi {
  /** Resolves when the execution is durably started. */
  start(request: StartExecution, options?: CallOptions): Promise<{ execution_id: string }>;
  /** Throws `not_found`, for another tenant's id too. */
  status(tenant: string, executionId: string): Promise<ExecutionStatus>;
  /** Events behind `after` as recorded; payloads are the wire objects of events.ts. */
  events(tenant: string, executionId: string, after: number, limit: number): Promise<ActorEvent[]>;
  follow(
    tenant: string,
    executionId: string,
    after: number,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): AsyncIterable<ActorEvent | null>;
  /** Resolves when the cancel is committed; cancelling an ended execution throws `failed_precondition`. */
  cancel(tenant: string, executionId: string, options?: CallOptions): Promise<void>;
  /** Newest first. */
  list(
    tenant: string,
    filter: { readonly agentId?: string; readonly status?: string; readonly limit: number; readonly skip?: number },
  ): Promise<ExecutionStatus[]>;
  /** Log of one execution (`svc.task.logs`, spec 3), oldest first; `limit` is capped at 200. Throws `not_found`. */
  logs(
    tenant: string,
    executionId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ status: ExecutionStatus['status']; events: ExecutionLogEvent[]; total: number }>;
  /** Removes an ended execution; throws `failed_precondition` while it runs. */
  remove(tenant: string, executionId: string): Promise<void>;
}

export type ExecutionClient = Pick<ActorClient, 'ask' | 'read' | 'events' | 'follow'>;

const MAX_LOG_EVENTS = 200;

/** What a caller may see: started, and not removed. */
interface Visible {
  readonly address: Address;
  readonly snapshot: ActorSnapshot;
  readonly state: RunningExecution | EndedExecution;
}

/** The area's api over messages, committed states and the collection `EXECUTIONS`. */
export function createExecutionApi(parts: {
  readonly client: ExecutionClient;
  readonly executions: Collection<ExecutionDocument>;
  /** Deletes what the kernel archived of a removed execution; without it the archive keeps it, unseen. */
  readonly archive?: { remove(address: Address): Promise<boolean> };
  /** Default: no tags, and `inherit` means `process`. */
  readonly node?: NodeOffer;
}): ExecutionApi {
  const { client, executions, archive, node = { tags: [], isolation: 'inherit' } } = parts;

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
    async start(request, options) {
      const address = addressOf('execution', request.identity.tenant, request.executionId);
      const manifest = fitToNode(request.manifest, node);
      await client.ask(address, 'Start', startPayload({ ...request, manifest }), {
        ...options,
        identity: request.identity,
      });
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
      const { address, state, snapshot } = await visible(tenant, executionId);
      if (state.status === 'running') {
        throw new SvcError('failed_precondition', 'the execution is still running: cancel it first');
      }
      await executions.put(tombstone(tenant, executionId, statusOf(state, snapshot)));
      await archive?.remove(address);
    },
  };
}

const notFound = (): SvcError => new SvcError('not_found', 'execution not found');
const ended = (status: string): SvcError => new SvcError('failed_precondition', `the execution is ${status} already`);
