import { actingFor, requireStartable, type WorkflowCatalog } from '../../catalog/api.ts';
import { type TakenInput, takeInput } from '../../manifests/workflow/input.ts';
import type { WorkflowManifest } from '../../manifests/workflow/schema.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';
import { refuseLargeWorkflow, type StartWorkflow, type WorkflowApi } from '../workflow-runs.ts';
import { type ForkedStart, forkIdentity, type StartLimits, startInSlot, takeStart } from './start-execution.ts';
import { executionIdFor, startIdFor } from './start-keys.ts';

/** A caller's start of a workflow, the same on every transport. */
interface StartWorkflowCall
  extends Pick<StartWorkflow, 'intent' | 'blackboard' | 'labels' | 'ancestors' | 'notify' | 'pipeline'> {
  /** UUID or name. */
  readonly workflow: string;
  /** Version of the workflow; default the newest. */
  readonly version?: string;
  /** Default: an empty object. */
  readonly input?: StartWorkflow['input'];
  /** Changes the deployed manifest for this run; for workflows of the product. */
  readonly adapt?: (manifest: WorkflowManifest) => WorkflowManifest;
  /** It begins as a fork. */
  readonly fork?: ForkedStart<StartWorkflow>;
}

interface StartWorkflowCaller {
  readonly identity: Identity;
  /** W3C trace id. */
  readonly trace?: string;
  /** The same key, caller and call start one execution, until that execution is removed. */
  readonly idempotencyKey?: string;
  /** Used instead of a key by callers that repeat their call with the same id (effects). */
  readonly executionId?: string;
  /** Ends the wait for the answer; a start that was already sent may still happen. */
  readonly signal?: AbortSignal;
}

interface StartedWorkflow {
  readonly execution_id: string;
  readonly workflow_id: string;
  readonly name: string;
}

interface Parts extends StartLimits {
  readonly catalog: Pick<WorkflowCatalog, 'get'>;
  readonly workflows: Pick<WorkflowApi, 'start' | 'status'>;
}

/**
 * Looks the workflow up with the caller's visibility (its own, its tenant's, global), checks the input against the
 * schema, fills in the schema's defaults and starts an execution. Resolves when the start is durable. Throws
 * `not_found`; `failed_precondition` for a paused or archived workflow; `validation_failed` with path and message of
 * each mismatch, before anything is created or counted; `conflict` for a key or id that started another workflow, and
 * for a key that came with another body; `rate_limited`; and the errors of `WorkflowApi.start`.
 */
export async function startWorkflow(
  parts: Parts,
  call: StartWorkflowCall,
  caller: StartWorkflowCaller,
): Promise<StartedWorkflow> {
  const { identity, trace, signal, idempotencyKey } = caller;
  const { workflow, version, input = {}, adapt = same, fork, ...rest } = call;
  // A key costs a hash of the whole request.
  if (idempotencyKey !== undefined) refuseLargeWorkflow({ input, blackboard: rest.blackboard });
  const what = fork === undefined ? 'workflow' : 'fork workflow';
  const bind = (workflowId: string): Promise<string> => {
    const asked = fork?.asked ?? { ...rest, version, input, workflow: workflowId };
    return startIdFor(parts.startKeys, { identity, what, key: idempotencyKey }, asked);
  };
  const known = await knownId(parts, caller, what);
  const repeated = known === null ? null : await startedBefore(parts, call, { identity, executionId: known });
  if (repeated !== null) {
    if (caller.executionId === undefined) await bind(repeated.workflow_id);
    return repeated;
  }
  const found = await parts.catalog.get(identity, workflow, version);
  requireStartable(found);
  const manifest = fork?.manifest ?? adapt(found.manifest);
  const { input: taken, misfits } = takeInput(manifest.metadata.input_schema, input);
  if (misfits.length > 0) throw unfit(found.name, misfits);
  // The caller is gone, so there is no reason to start.
  signal?.throwIfAborted();
  const id = caller.executionId ?? (await bind(found.id));
  const executionId = idempotencyKey === undefined ? caller.executionId : id;
  const slot = { identity, kind: 'workflow', id } as const;
  await takeStart(parts, slot);
  const start: StartWorkflow = {
    ...rest,
    executionId: id,
    workflowId: found.id,
    manifest,
    input: taken,
    identity: forkIdentity(actingFor(identity, found), fork),
    fork: await fork?.workFor(id),
  };
  const options = {
    trace,
    signal,
    // The message id is the execution id, so the mailbox also drops a repeat.
    ...(executionId === undefined ? { isFirst: true } : { messageId: executionId }),
  };
  try {
    const { execution_id } = await startInSlot(parts, slot, () => parts.workflows.start(start, options));
    return { execution_id, workflow_id: found.id, name: found.name };
  } catch (thrown) {
    const isRepeat = thrown instanceof SvcError && thrown.code === 'conflict' && executionId !== undefined;
    const before = isRepeat ? await startedBefore(parts, call, { identity, executionId }) : null;
    if (before === null) throw thrown;
    return before;
  }
}

const same = (manifest: WorkflowManifest): WorkflowManifest => manifest;

/**
 * The id under which an earlier call may have started the run. Needed for a workflow that was removed since: only this
 * id can still find its run.
 */
async function knownId(
  { startKeys }: Parts,
  { identity, executionId, idempotencyKey: key }: StartWorkflowCaller,
  what: 'workflow' | 'fork workflow',
): Promise<string | null> {
  if (executionId !== undefined || key === undefined) return executionId ?? null;
  if (startKeys === undefined) return executionIdFor(identity.tenant, `${what} ${key}`);
  return startKeys.find({ identity, what, key });
}

/** The run that an earlier call with the same id started; null when there is none. */
async function startedBefore(
  { workflows }: Parts,
  { workflow }: StartWorkflowCall,
  { identity, executionId }: { readonly identity: Identity; readonly executionId: string },
): Promise<StartedWorkflow | null> {
  const before = await foundOrNull(workflows.status(identity, executionId));
  if (before === null) return null;
  const { workflow_id, workflow_name } = before;
  if (workflow === workflow_name || workflow.toLowerCase() === workflow_id)
    return { execution_id: executionId, workflow_id, name: workflow_name };
  throw new SvcError('conflict', 'this key or id was used to start an execution of another workflow');
}

function unfit(name: string, misfits: TakenInput['misfits']): SvcError {
  const [first] = misfits;
  const where = first === undefined ? '' : ` ${first.path}: ${first.message}.`;
  return new SvcError('validation_failed', `The input does not fit the schema of workflow ${name}.${where}`, {
    field: 'input',
    details: misfits,
  });
}
