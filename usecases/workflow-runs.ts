import { z } from 'zod';
import { type WorkflowLogEvent, workflowLogEvents } from '../actors/workflow/events.ts';
import { pipelineResult } from '../actors/workflow/intent-pipeline.ts';
import { LIMITS } from '../actors/workflow/limits.ts';
import {
  type Ancestor,
  ancestryProblem,
  type IntentPipeline,
  type StartWorkflow,
  startPayload,
} from '../actors/workflow/start-request.ts';
import { type EndedWorkflow, isRunning, type RunningWorkflow, WorkflowState } from '../actors/workflow/state.ts';
import { WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument } from '../actors/workflow/view.ts';
import { type Address, addressOf, tenantOf } from '../runtime/address.ts';
import type { ActorClient, ActorSnapshot, CallOptions } from '../runtime/client.ts';
import { newestFirst, type Page, pageOf, shownPage } from '../runtime/documents/pages.ts';
import type { Collection, Condition } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import {
  type Identity,
  mayStop,
  ownerPart,
  seenPart,
  sees,
  seesAll,
  tenantOfViewer,
  type Viewer,
} from '../runtime/identity.ts';
import { BoundedCache } from '../runtime/kit/bounded-cache.ts';
import { compiledWhenHot } from '../runtime/kit/hot-schema.ts';
import type { ApprovalApi } from './approvals.ts';
import type { ExecutionApi } from './executions.ts';
import { MAX_LISTED, MAX_LOG_EVENTS } from './fields.ts';
import { refuseCertainlyTooLarge, turnFor } from './large-values.ts';
import { endedAlready, type RunApi, type RunCallParts, removeRun, runReads } from './runs/run-calls.ts';
import type { OwnWait, WaitLookups, WaitReason } from './waits/wait-reason.ts';
import { waitReason } from './waits/workflow-wait.ts';
import {
  executionOf,
  listed,
  summaryOf,
  tombstone,
  WORKFLOW_STATUSES,
  type WorkflowExecution,
  type WorkflowFilter,
  type WorkflowStatus,
  type WorkflowSummary,
} from './workflow-status.ts';

export type {
  Ancestor,
  IntentPipeline,
  StartWorkflow,
  WaitReason,
  WorkflowExecution,
  WorkflowLogEvent,
  WorkflowStatus,
  WorkflowSummary,
};
export { ancestryProblem, pipelineResult, WORKFLOW_EXECUTIONS, type WorkflowExecutionDocument, workflowLogEvents };

/**
 * The public API of workflow runs. All reads answer from committed state and throw `not_found` for what the viewer may
 * not see.
 */
export interface WorkflowApi extends RunApi<WorkflowSummary, WorkflowLogEvent> {
  /**
   * Resolves when the execution is durably started; a run of built-in steps may have ended by then. Throws `conflict`
   * when the id belongs to another workflow, `payload_too_large`, `invalid_manifest`.
   */
  start(
    request: StartWorkflow,
    options?: CallOptions,
  ): Promise<{ readonly execution_id: string; readonly status: WorkflowStatus }>;
  get(viewer: Viewer, executionId: string): Promise<WorkflowExecution>;
  /** Runs, newest first. */
  list(viewer: Viewer, filter: WorkflowFilter): Promise<Page<WorkflowSummary> & { readonly total: number }>;
  /** Answers the approval that the run waits for. Throws `conflict` when it waits for none, `not_found`. */
  signal(identity: Identity, executionId: string, response: string, options?: CallOptions): Promise<void>;
  /** Resolves when the cancel is committed. Throws `failed_precondition` for an ended run. */
  cancel(viewer: Identity | string, executionId: string, options?: CallOptions): Promise<void>;
}

type WorkflowClient = Pick<ActorClient, 'ask' | 'read' | 'events' | 'follow' | 'isServed'>;

const NEWEST_FIRST = newestFirst('started_at');

/** Schemas for what the actor of a run says: its state, what of that says who may see the run, and its answer to Start. */
const read = {
  state: compiledWhenHot(WorkflowState),
  seen: compiledWhenHot(z.object({ status: z.enum(['pending', ...WORKFLOW_STATUSES]), owner: z.string().optional() })),
  started: compiledWhenHot(z.object({ status: z.enum(WORKFLOW_STATUSES) })),
};

/** The state of a run that callers may see: started and not removed. */
export interface WorkflowFound {
  readonly address: Address;
  readonly snapshot: ActorSnapshot;
  readonly state: RunningWorkflow | EndedWorkflow;
}

/** Finds a run that the viewer may see, in its committed state. Throws `not_found`. */
export async function findWorkflow(
  parts: { client: Pick<ActorClient, 'read'>; executions: Collection<WorkflowExecutionDocument> },
  viewer: Viewer,
  executionId: string,
  may = sees,
): Promise<WorkflowFound> {
  const address = addressOf('workflow', tenantOfViewer(viewer), executionId);
  const snapshot = await parts.client.read(address, null, { unchecked: true });
  const state = snapshot === null ? null : read.state().parse(snapshot.state);
  if (snapshot === null || state === null || state.status === 'pending') throw notFound();
  await refuseUnseen(parts.executions, viewer, executionId, state, may);
  return { address, snapshot, state };
}

/** `findWorkflow` for calls that only need the address: the state is not read as a whole. */
async function findAddress(
  parts: Parameters<typeof findWorkflow>[0],
  viewer: Viewer,
  executionId: string,
): Promise<{ readonly address: Address }> {
  const address = addressOf('workflow', tenantOfViewer(viewer), executionId);
  const snapshot = await parts.client.read(address, null, { shared: true, unchecked: true });
  const seen = snapshot === null ? null : read.seen().parse(snapshot.state);
  if (seen === null || seen.status === 'pending') throw notFound();
  await refuseUnseen(parts.executions, viewer, executionId, { status: seen.status, owner: seen.owner }, sees);
  return { address };
}

/** Throws `not_found` for a run that the viewer may not see, and for an ended one that was removed from the list. */
async function refuseUnseen(
  executions: Pick<Collection<WorkflowExecutionDocument>, 'get'>,
  viewer: Viewer,
  executionId: string,
  { status, owner }: { readonly status: WorkflowStatus; readonly owner?: string | undefined },
  may: typeof sees,
): Promise<void> {
  if (!may(viewer, owner)) throw notFound();
  if (status === 'running' || status === 'waiting_for_human_input') return;
  if ((await executions.get(tenantOfViewer(viewer), executionId))?.removed === true) throw notFound();
}

/** Refuses a start that its actor would certainly refuse for its size, before anything is created for it. */
export function refuseLargeWorkflow({ input, blackboard }: Partial<Pick<StartWorkflow, 'input' | 'blackboard'>>): void {
  refuseCertainlyTooLarge('input', input, LIMITS.inputBytes);
  refuseCertainlyTooLarge('blackboard', blackboard, LIMITS.blackboardBytes);
}

/** Implements `WorkflowApi` over messages, committed states and the collection `WORKFLOW_EXECUTIONS`. */
export function createWorkflowApi(
  parts: RunCallParts<WorkflowExecutionDocument> & {
    readonly client: WorkflowClient;
    readonly executions: Collection<WorkflowExecutionDocument>;
    /** Answers the approvals that signals are for, and lists those that runs wait for. */
    readonly approvals: Pick<ApprovalApi, 'answer' | 'ensureListed'>;
    /** Lookups for `waiting_for`. */
    readonly waits?: Omit<WaitLookups, 'client'>;
    /** Returns the wait of a child agent. */
    readonly agents?: Pick<ExecutionApi, 'status'>;
  },
): WorkflowApi {
  const { client, executions, approvals, agents } = parts;
  const waits = { ...parts.waits, client };
  const owners = new KnownOwners();

  const find = (viewer: Viewer, executionId: string, may = sees): Promise<WorkflowFound> =>
    findWorkflow({ client, executions }, viewer, executionId, may);

  /** The wait of a child, one level deep: a child's own child is only named by its id. */
  async function childWait(kind: 'agent' | 'child', tenant: string, id: string): Promise<OwnWait | undefined> {
    try {
      if (kind === 'agent') return (await agents?.status(tenant, id))?.waiting_for;
      const { address, snapshot, state } = await find(tenant, id);
      return isRunning(state) ? await waitReason(waits, state, snapshot, address) : undefined;
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'not_found') return undefined;
      throw thrown;
    }
  }

  /** Lists the approval before an answer says that the run waits for it. */
  async function listAwaited({ awaiting }: RunningWorkflow, address: Address): Promise<void> {
    if (awaiting.kind === 'approval' && awaiting.opened)
      await approvals.ensureListed(tenantOf(address), awaiting.approval_id);
  }

  return {
    ...runReads(
      parts,
      (viewer, executionId) => findAddress({ client, executions }, viewer, executionId),
      (viewer, executionId) => owners.seenBy(viewer, addressOf('workflow', tenantOfViewer(viewer), executionId)),
    ),

    async start(request, options) {
      refuseLargeWorkflow(request);
      const address = addressOf('workflow', request.identity.tenant, request.executionId);
      const call = { ...options, identity: request.identity };
      const type = request.fork === undefined ? 'Start' : 'Fork';
      const payload = startPayload(request);
      await turnFor(payload);
      const { status } = read.started().parse(await client.ask(address, type, payload, call));
      if (options?.isFirst === true && request.fork === undefined) owners.note(address, request.identity);
      return { execution_id: request.executionId, status };
    },

    async get(viewer, executionId) {
      const { address, snapshot, state } = await find(viewer, executionId);
      const execution = executionOf(state);
      if (!isRunning(state)) return execution;
      await listAwaited(state, address);
      return { ...execution, waiting_for: await waitReason({ ...waits, childWait }, state, snapshot, address) };
    },

    async status(viewer, executionId) {
      const { address, state } = await find(viewer, executionId);
      if (isRunning(state)) await listAwaited(state, address);
      return summaryOf(state);
    },

    async logs(viewer, executionId, page) {
      const { address, snapshot, state } = await find(viewer, executionId);
      const limit = Math.min(Math.max(1, page.limit), MAX_LOG_EVENTS);
      const events = await client.events(address, Math.max(0, page.offset), limit);
      return { status: state.status, events: workflowLogEvents(events), total: snapshot.lastEvent };
    },

    async list(viewer, { workflowId: workflow_id, status, outcome, ...page }) {
      const tenant = tenantOfViewer(viewer);
      const where: Record<string, Condition> = { removed: false, ...seenPart(viewer) };
      if (workflow_id !== undefined) where.workflow_id = workflow_id;
      if (status !== undefined) where.status = status;
      if (outcome !== undefined) where.outcome = outcome;
      const limit = Math.min(Math.max(1, page.limit), MAX_LISTED);
      const [found, total] = await Promise.all([
        pageOf(executions, 'workflow executions', { tenant, where, sort: NEWEST_FIRST }, { ...page, limit }),
        executions.count({ tenant, where }),
      ]);
      return { ...shownPage(found, listed), total };
    },

    async signal(identity, executionId, response, options) {
      const { state } = await find(identity, executionId);
      const approval = isRunning(state) && state.awaiting.kind === 'approval' ? state.awaiting : null;
      if (approval?.opened !== true) throw notWaiting();
      const answer = { payload: response, feedback: null, by: null };
      try {
        await approvals.answer(identity, approval.approval_id, answer, options);
      } catch (thrown) {
        // The approval was answered or withdrawn between the two calls and has been archived.
        if (thrown instanceof SvcError && thrown.code === 'not_found') throw notWaiting();
        throw thrown;
      }
    },

    async cancel(viewer, executionId, options) {
      const { address, state } = await find(viewer, executionId, mayStop);
      if (!isRunning(state)) throw endedAlready('workflow execution', state.status);
      try {
        await client.ask(
          address,
          'Cancel',
          {},
          typeof viewer === 'string' ? options : { ...options, identity: viewer },
        );
      } catch (thrown) {
        // The run ended and was archived between the two calls.
        if (!(thrown instanceof SvcError) || thrown.code !== 'not_found') throw thrown;
        throw endedAlready('workflow execution', (await find(viewer, executionId, mayStop)).state.status);
      }
    },

    async remove(viewer, executionId) {
      const { address, state } = await find(viewer, executionId);
      if (isRunning(state))
        throw new SvcError('failed_precondition', 'the workflow execution has not ended: cancel it first');
      await removeRun(parts, WORKFLOW_EXECUTIONS.name, {
        address,
        startedAt: state.started_at,
        owner: state.owner,
        tombstone: tombstone(tenantOfViewer(viewer), state),
      });
    },
  };
}

const notWaiting = (): SvcError => new SvcError('conflict', 'the workflow execution waits for no human');
const notFound = (): SvcError => new SvcError('not_found', 'workflow execution not found');

/** Most runs whose owners are kept. */
const MOST_OWNERS = 1_000;

/** Owners of runs that this process started a short while ago. An owner never changes, so no state is read to find it again. */
export class KnownOwners {
  readonly #owners = new BoundedCache<Address, { readonly owner?: string }>(MOST_OWNERS);

  /** Notes a run that was started with this identity under an id that was created for it. */
  note(address: Address, identity: Identity): void {
    this.#owners.put(address, ownerPart(identity));
  }

  /** The address, when it is known that the viewer may see the run. */
  seenBy(viewer: Viewer, address: Address): Address | null {
    if (seesAll(viewer)) return address;
    const known = this.#owners.get(address);
    return known !== undefined && sees(viewer, known.owner) ? address : null;
  }
}
