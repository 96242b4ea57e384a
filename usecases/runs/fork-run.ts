import { readAgentManifest, readWorkflowManifest } from '../../catalog/manifest-reading.ts';
import type { Parsed } from '../../manifests/schema-problems.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { isJsonObject, type Json, type JsonObject, plainObject } from '../../runtime/json.ts';
import type { ForkedFrom } from '../../runtime/recording/forked-work.ts';
import { requireRole } from '../../security/api.ts';
import type { OperationPorts } from '../operations/operation.ts';
import { startExecution } from '../starts/start-execution.ts';
import { startWorkflow } from '../starts/start-workflow.ts';
import type { WaitReason } from '../waits/wait-reason.ts';
import type { ForkApi, ForkSource } from './fork-source.ts';

/** A caller's fork of a run. Absent fields are as in the original. */
interface ForkCall {
  readonly id: string;
  /** Default: the last message after which the run had not ended. */
  readonly messageId?: string;
  /** Of an execution: its text. Of a workflow run: its input; members of an object replace those of the original. */
  readonly input?: Json;
  /** Of an execution: values of its prompt that are changed. */
  readonly context?: JsonObject;
  /** Of a workflow run: entries that are changed. */
  readonly blackboard?: JsonObject;
  /** A deployed version, or a manifest. */
  readonly version?: string;
  readonly manifest?: string;
  readonly reason?: string;
}

interface ForkCaller {
  readonly identity: Identity;
  readonly trace: string;
  readonly idempotencyKey?: string;
}

interface ForkedRun {
  readonly id: string;
  readonly kind: ForkSource['kind'];
  readonly forked_from: ForkedFrom;
  readonly waiting_for?: WaitReason;
}

type Ports = Pick<OperationPorts, 'agents' | 'executions' | 'tierLimits' | 'runningLimits' | 'startKeys'> & {
  readonly forks: ForkApi;
  readonly workflows: NonNullable<OperationPorts['workflows']>;
};

/**
 * Starts a new run from a message of another one. Counts, is refused and is repeated like a start of its agent or
 * workflow. Throws what `ForkApi.source` and the starts throw, and `validation_failed` naming the field for changes that
 * do not fit.
 */
export async function forkRun(ports: Ports, call: ForkCall, caller: ForkCaller): Promise<ForkedRun> {
  if (call.manifest !== undefined) requireRole(caller.identity, 'write');
  const source = await ports.forks.source(caller.identity, call.id, call);
  const forked = { forked_from: source.from, kind: source.kind };
  if (source.kind === 'workflow') {
    const { execution_id } = await forkWorkflow(ports, source, call, caller);
    return { id: execution_id, ...forked };
  }
  const { execution_id, waiting_for } = await forkExecution(ports, source, call, caller);
  return { id: execution_id, ...forked, waiting_for };
}

type SourceOf<Kind extends ForkSource['kind']> = Extract<ForkSource, { readonly kind: Kind }>;

async function forkExecution(ports: Ports, source: SourceOf<'execution'>, call: ForkCall, caller: ForkCaller) {
  refuseField(call, 'blackboard', 'expected none: an execution of an agent has no blackboard');
  const { start, isConfidential } = source;
  const { agents } = ports;
  const { input = start.input } = call;
  const changed: ('input' | 'manifest')[] = [];
  if (call.input !== undefined || call.context !== undefined) changed.push('input');
  const manifest = await manifestFor(start.manifest, call, {
    read: readAgentManifest,
    deployed: async (version) => (await agents.get(caller.identity, start.agent_id, version)).manifest,
  });
  if (manifest !== start.manifest) changed.push('manifest');
  return startExecution(
    ports,
    {
      agent: start.agent_id,
      input: typeof input === 'string' ? input : JSON.stringify(input),
      context: call.context === undefined ? start.context : { ...start.context, ...call.context },
      securityPolicy: start.security_policy === undefined ? undefined : plainObject(start.security_policy),
      labels: start.labels,
      mounts: start.mounts,
      depth: start.depth,
      fork: {
        workFor: async (id) => ({ work: await source.workOf(id), changed }),
        manifest,
        isConfidential,
        asked: call,
      },
    },
    caller,
  );
}

async function forkWorkflow(ports: Ports, source: SourceOf<'workflow'>, call: ForkCall, caller: ForkCaller) {
  refuseField(call, 'context', 'expected none: a workflow run takes a blackboard');
  const { state, start, isConfidential } = source;
  const { catalog } = ports.workflows;
  const changed: ('input' | 'blackboard' | 'manifest')[] = [];
  if (call.input !== undefined) changed.push('input');
  if (call.blackboard !== undefined) changed.push('blackboard');
  const manifest = await manifestFor(state.manifest, call, {
    read: readWorkflowManifest,
    deployed: async (version) => (await catalog.get(caller.identity, state.workflow_id, version)).manifest,
  });
  if (manifest !== state.manifest) changed.push('manifest');
  return startWorkflow(
    { ...ports, catalog, workflows: ports.workflows.workflows },
    {
      workflow: state.workflow_id,
      input: call.input === undefined ? state.input : merged(state.input, call.input),
      blackboard: call.blackboard,
      labels: state.labels,
      ancestors: start.ancestors,
      fork: {
        workFor: async (id) => ({ work: await source.workOf(id), changed }),
        manifest,
        isConfidential,
        asked: call,
      },
    },
    caller,
  );
}

const merged = (before: Json, change: Json): Json =>
  isJsonObject(before) && isJsonObject(change) ? { ...before, ...change } : change;

function refuseField(call: ForkCall, field: 'blackboard' | 'context', message: string): void {
  if (call[field] !== undefined) throw new SvcError('validation_failed', `${field}: ${message}`, { field });
}

interface Named {
  readonly metadata: { readonly name: string };
}

/**
 * The manifest of a fork: the given one, a deployed version, else that of the original. It must have the name of the original,
 * since a fork runs the same agent or workflow.
 */
async function manifestFor<Manifest extends Named>(
  original: Manifest,
  { manifest, version }: ForkCall,
  from: {
    readonly read: (text: string) => Promise<Parsed<Manifest>>;
    readonly deployed: (version: string) => Promise<Manifest>;
  },
): Promise<Manifest> {
  let other = original;
  if (manifest !== undefined) other = valid(await from.read(manifest));
  else if (version !== undefined) other = await from.deployed(version);
  const { name } = other.metadata;
  if (name === original.metadata.name) return other;
  const message = `manifest: expected the name ${original.metadata.name} of the original, got ${name}`;
  throw new SvcError('validation_failed', message, { field: 'manifest' });
}

function valid<Manifest>(read: Parsed<Manifest>): Manifest {
  if (read.ok) return read.manifest;
  const details = read.problems.map(({ path, message }) => ({ path, message }));
  const [{ path, message } = { path: '', message: 'not valid' }] = details;
  // A text that is no YAML has no place that could be named.
  const where = path === '' ? '' : `${path}: `;
  throw new SvcError('invalid_manifest', `manifest: ${where}${message}`, { field: 'manifest', details });
}
