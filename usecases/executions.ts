import { z } from 'zod';
import { type ExecutionLogEvent, executionLogEvents } from '../actors/execution/events.ts';
import { LIMITS } from '../actors/execution/limits.ts';
import { type StartExecution, startPayload } from '../actors/execution/messages.ts';
import { fitToNode, type NodeOffer } from '../actors/execution/plan-execution.ts';
import { type EndedExecution, ExecutionState, type RunningExecution } from '../actors/execution/state.ts';
import { EXECUTIONS, type ExecutionDocument } from '../actors/execution/view.ts';
import { needsOf } from '../manifests/node/capabilities.ts';
import { type Address, addressOf } from '../runtime/address.ts';
import type { ActorClient, ActorSnapshot, CallOptions } from '../runtime/client.ts';
import { systemClock } from '../runtime/clock.ts';
import { newestFirst, type Page, type PageAsked, pageOf } from '../runtime/documents/pages.ts';
import type { Collection, Condition } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { mayStop, seenPart, sees, tenantOfViewer, type Viewer } from '../runtime/identity.ts';
import { compiledWhenHot } from '../runtime/kit/hot-schema.ts';
import { poolOfTags } from '../runtime/locator.ts';
import { type ExecutionStatus, listed, statusOf, tombstone } from './execution-status.ts';
import { MAX_LOG_EVENTS } from './fields.ts';
import { refuseCertainlyTooLarge } from './large-values.ts';
import type { ExecutionVolumes } from './ports/volumes.ts';
import { endedAlready, type RunApi, type RunCallParts, removeRun, runReads } from './runs/run-calls.ts';
import { mountsOfStart } from './starts/agent-volumes.ts';
import { aboutToStart, executionWait, waitingDocument, waitingFor } from './waits/execution-wait.ts';
import type { WaitLookups, WaitReason } from './waits/wait-reason.ts';

export type { ExecutionStatus, StartExecution, WaitReason };
export { EXECUTIONS, type ExecutionDocument, type ExecutionLogEvent, executionLogEvents };

/**
 * The public API of executions for transports, CLI views and tools. Implemented over ActorClient. All calls throw `not_found` for
 * an execution that the viewer may not see.
 */
export interface ExecutionApi extends RunApi<ExecutionStatus, ExecutionLogEvent> {
  /**
   * Resolves when the execution is durably started. When no live node may serve it yet, resolves when the start message
   * is durable; `waiting_for` then says what is missing.
   */
  start(
    request: StartExecution,
    options?: CallOptions,
  ): Promise<{ readonly execution_id: string; readonly waiting_for?: WaitReason }>;
  /** The hash that its start carried; undefined for starts without one. */
  requestHash(viewer: Viewer, executionId: string): Promise<string | undefined>;
  /** Whether the execution has ended; with `orIsCancelled` also whether its cancel is stored. Throws `not_found`. */
  hasEnded(viewer: Viewer, executionId: string, options?: { readonly orIsCancelled?: boolean }): Promise<boolean>;
  /**
   * Resolves when the cancel is committed, or is stored for a node that may serve the execution. Throws `failed_precondition`
   * for an ended execution.
   */
  cancel(viewer: Viewer, executionId: string, options?: CallOptions): Promise<void>;
  /** Executions, newest first. */
  list(
    viewer: Viewer,
    filter: PageAsked & { readonly agentId?: string; readonly status?: string; readonly workflowExecutionId?: string },
  ): Promise<Page<ExecutionStatus>>;
  /** Ended executions of an agent, last ended first, and their total number. May lag behind like every list. */
  ended(
    viewer: Viewer,
    agentId: string,
    page: { readonly limit: number; readonly skip: number },
  ): Promise<{ readonly executions: ExecutionStatus[]; readonly total: number }>;
}

type ExecutionClient = Pick<ActorClient, 'ask' | 'tell' | 'read' | 'events' | 'follow' | 'place' | 'isServed'>;

const NEWEST_FIRST = newestFirst('started_at');

/** The state of an execution that callers may see: started and not removed. */
interface Visible {
  readonly address: Address;
  readonly snapshot: ActorSnapshot;
  readonly state: RunningExecution | EndedExecution;
}

/** An execution whose start was accepted and is not handled by its actor yet. */
interface Waiting {
  readonly address: Address;
  readonly document: ExecutionDocument;
}

export type ExecutionFound = Visible | Waiting;

/** Finds an execution that the viewer may see, in its committed state. Throws `not_found`. */
export async function findExecution(
  { client, executions }: { client: Pick<ActorClient, 'read'>; executions: Collection<ExecutionDocument> },
  viewer: Viewer,
  executionId: string,
  may = sees,
): Promise<ExecutionFound> {
  const tenant = tenantOfViewer(viewer);
  const address = addressOf('execution', tenant, executionId);
  const snapshot = await client.read(address, null, { unchecked: true });
  const state = snapshot === null ? null : ExecutionState.parse(snapshot.state);
  if (snapshot === null || state === null || state.status === 'pending') {
    const document = await executions.get(tenant, executionId);
    if (document?.status !== 'pending' || !may(viewer, document.owner)) throw notFound();
    return { address, document };
  }
  if (!may(viewer, state.owner)) throw notFound();
  await refuseRemoved(executions, { tenant, executionId }, state.status);
  return { address, snapshot, state };
}

/** Throws `not_found` for an ended execution that was removed from the list. */
async function refuseRemoved(
  executions: Pick<Collection<ExecutionDocument>, 'get'>,
  { tenant, executionId }: { readonly tenant: string; readonly executionId: string },
  status: ExecutionState['status'],
): Promise<void> {
  if (status !== 'running' && (await executions.get(tenant, executionId))?.removed === true) throw notFound();
}

/** The fields of a state that decide who may see the execution. */
const seen = compiledWhenHot(
  z.object({
    status: z.enum(['pending', 'running', 'completed', 'failed', 'cancelled']),
    owner: z.string().optional(),
  }),
);

/** `findExecution` for calls that only need the address: the state is not read as a whole. */
async function findAddress(
  { client, executions }: Parameters<typeof findExecution>[0],
  viewer: Viewer,
  executionId: string,
): Promise<{ readonly address: Address }> {
  const tenant = tenantOfViewer(viewer);
  const address = addressOf('execution', tenant, executionId);
  const snapshot = await client.read(address, null, { shared: true, unchecked: true });
  const state = snapshot === null ? null : seen().parse(snapshot.state);
  if (state === null || state.status === 'pending') return findExecution({ client, executions }, viewer, executionId);
  if (!sees(viewer, state.owner)) throw notFound();
  await refuseRemoved(executions, { tenant, executionId }, state.status);
  return { address };
}

/** Refuses a start that its actor would certainly refuse for its size, before anything is created for it. */
export function refuseLargeExecution({ input, context }: Pick<StartExecution, 'input' | 'context'>): void {
  // Values of the context can be in it twice, so twice the limit is the least that is certain.
  refuseCertainlyTooLarge('input', [input, context], 2 * LIMITS.inputBytes, LIMITS.inputBytes);
}

/** Implements `ExecutionApi` over messages, committed states and the collection `EXECUTIONS`. */
export function createExecutionApi(
  parts: RunCallParts<ExecutionDocument> & {
    readonly client: ExecutionClient;
    readonly executions: Collection<ExecutionDocument>;
    /** Absent: the isolation `inherit` means `process`. */
    readonly node?: () => NodeOffer;
    /** Registered workers outside of the fleet's store. Absent: there are none. */
    readonly workers?: {
      /** Whether a healthy one has all of these tags. */
      has(tags: readonly string[]): Promise<boolean>;
    };
    /**
     * Those of an agent's needs that only some nodes with the tags meet. Absent: all nodes are alike. Work that a caller places
     * itself (`here`) stays there.
     */
    readonly scarce?: (tags: readonly string[], needs: readonly string[]) => Promise<readonly string[]>;
    /** Absent: agents that name volumes cannot start. */
    readonly volumes?: ExecutionVolumes;
    /** Lookups for the `waiting_for` of running executions. */
    readonly waits?: Omit<WaitLookups, 'client'>;
  },
): ExecutionApi {
  const { client, executions, changes, waits, workers, scarce, volumes } = parts;
  const { node = () => ({ isolation: 'inherit' }) } = parts;

  const find = (viewer: Viewer, executionId: string, may = sees): Promise<ExecutionFound> =>
    findExecution({ client, executions }, viewer, executionId, may);

  /** Members with the tags come first; a registered worker outside of the fleet gets only work that none of them can serve. */
  async function forwardFor(
    { here, fork }: StartExecution,
    tags: readonly string[],
  ): Promise<StartExecution['forward']> {
    if (workers === undefined || tags.length === 0 || here === true || fork !== undefined) return undefined;
    if (await client.isServed(poolOfTags(tags))) return undefined;
    return (await workers.has(tags)) ? { tags } : undefined;
  }

  /** The tags that the manifest names, and its needs that only some nodes meet. */
  async function tagsOf({ manifest, here }: StartExecution): Promise<readonly string[]> {
    const { target_tags: tags } = manifest.spec.execution;
    if (scarce === undefined || here === true) return tags;
    return [...tags, ...(await scarce(tags, needsOf(manifest)))];
  }

  return {
    ...runReads(parts, (viewer, executionId) => findAddress({ client, executions }, viewer, executionId)),

    async start(request, options) {
      refuseLargeExecution(request);
      const address = addressOf('execution', request.identity.tenant, request.executionId);
      const tags = await tagsOf(request);
      const forward = await forwardFor(request, tags);
      const manifest = forward === undefined ? fitToNode(request, node()) : request.manifest;
      // A worker outside of the fleet has its own volumes.
      const mounts = forward === undefined ? await mountsOfStart(volumes, request) : request.mounts;
      const payload = startPayload({ ...request, manifest, mounts, forward });
      const call = { ...options, identity: request.identity };
      const started = { execution_id: request.executionId };
      const place = forward === undefined ? {} : { pool: 'system' as const };
      const { served } = await client.place(address, {
        tags,
        ...place,
        ...(request.here === true ? { here: true } : {}),
      });
      const type = request.fork === undefined ? 'Start' : 'Fork';
      if (served) {
        await client.ask(address, type, payload, call);
        return started;
      }
      // No live node would answer. The start is durable in the mailbox, and this document makes it visible in lists.
      const document = waitingDocument(request, tags, new Date(systemClock.now()).toISOString());
      await client.tell(address, type, payload, { ...call, messageId: request.executionId });
      await executions.put(document);
      await changes?.append(document.tenant, [{ collection: EXECUTIONS.name, id: document.id, owner: document.owner }]);
      const waiting = await waitingFor(client, document);
      return { ...started, ...(waiting === undefined ? {} : { waiting_for: waiting }) };
    },

    async status(viewer, executionId) {
      const found = await find(viewer, executionId);
      if ('document' in found) {
        const waiting_for = (await waitingFor(client, found.document)) ?? aboutToStart;
        return listed(found.document, waiting_for);
      }
      const { address, state, snapshot } = found;
      const status = statusOf(state, snapshot);
      if (state.status !== 'running') return status;
      return { ...status, waiting_for: await executionWait({ ...waits, client }, state, snapshot, address) };
    },

    async requestHash(viewer, executionId) {
      const found = await find(viewer, executionId);
      return 'document' in found ? undefined : found.state.request_hash;
    },

    async hasEnded(viewer, executionId, { orIsCancelled = false } = {}) {
      const found = await find(viewer, executionId);
      if ('document' in found) return orIsCancelled && found.document.cancel_asked === true;
      return found.state.status !== 'running';
    },

    async logs(viewer, executionId, page) {
      const found = await find(viewer, executionId);
      if ('document' in found) return { status: 'pending', events: [], total: 0 };
      const { address, snapshot, state } = found;
      const limit = Math.min(Math.max(1, page.limit), MAX_LOG_EVENTS);
      const events = await client.events(address, Math.max(0, page.offset), limit);
      return { status: state.status, events: executionLogEvents(events), total: snapshot.lastEvent };
    },

    async cancel(viewer, executionId, options) {
      const found = await find(viewer, executionId, mayStop);
      const { address } = found;
      if ('document' in found) {
        const { document } = found;
        if (document.cancel_asked === true) return;
        // The actor handles the cancel before any work, as soon as a node serves it. Until then the document says so.
        await client.tell(address, 'Cancel', {}, options);
        await executions.replace({ ...document, cancel_asked: true }, document.version);
        return;
      }
      const { state } = found;
      if (state.status !== 'running') throw endedAlready('execution', state.status);
      try {
        await client.ask(address, 'Cancel', {}, options);
      } catch (thrown) {
        // The execution ended and was archived between the two calls.
        if (thrown instanceof SvcError && thrown.code === 'not_found') {
          const { status } = await this.status(viewer, executionId);
          throw endedAlready('execution', status);
        }
        throw thrown;
      }
    },

    async list(viewer, filter) {
      const tenant = tenantOfViewer(viewer);
      const where: Record<string, Condition> = { removed: false, ...seenPart(viewer) };
      if (filter.agentId !== undefined) where.agent_id = filter.agentId;
      if (filter.status !== undefined) where.status = filter.status;
      if (filter.workflowExecutionId !== undefined) where.workflow_execution_id = filter.workflowExecutionId;
      const { items, ...next } = await pageOf(executions, 'executions', { tenant, where, sort: NEWEST_FIRST }, filter);
      return {
        items: await Promise.all(items.map(async (one) => listed(one, await waitingFor(client, one)))),
        ...next,
      };
    },

    async ended(viewer, agentId, page) {
      const tenant = tenantOfViewer(viewer);
      const where = { removed: false, ...seenPart(viewer), agent_id: agentId, ended_at: { gt: '' } };
      const [found, total] = await Promise.all([
        executions.find({
          tenant,
          where,
          ...page,
          sort: [
            ['ended_at', 'desc'],
            ['id', 'desc'],
          ],
        }),
        executions.count({ tenant, where }),
      ]);
      return { executions: found.map((one) => listed(one)), total };
    },

    async remove(viewer, executionId) {
      const found = await find(viewer, executionId);
      if ('document' in found || found.state.status === 'running') {
        throw new SvcError('failed_precondition', 'the execution has not ended: cancel it first');
      }
      const { address, state, snapshot } = found;
      await removeRun(parts, EXECUTIONS.name, {
        address,
        startedAt: state.started_at,
        owner: state.owner,
        tombstone: tombstone(tenantOfViewer(viewer), executionId, statusOf(state, snapshot)),
      });
    },
  };
}

const notFound = (): SvcError => new SvcError('not_found', 'execution not found');

export type { AttestApi } from './attestation.ts';
