import type { Occurrence } from '../security/api.ts';
import type { OwnedStorageEvent } from './ports/volumes.ts';

const STARTS = 'a start: the record of the run holds its caller, time and trace';
const TOOL_CALLS = 'the chain of tool calls records it';
const READS = 'it changes nothing';
const BY_TOOL = 'the tool is recorded (usecases/caller-tools.ts), reading ones are not';

/** Operations that are not reads by their method and leave no entry in the audit of operations, each with the reason. */
export const UNRECORDED: Readonly<Record<string, string>> = {
  'agents.execute': STARTS,
  'executions.start': STARTS,
  'execute.start': STARTS,
  'execute.intent': STARTS,
  'workflows.run': STARTS,
  'runs.fork': STARTS,
  'stimuli.ingest': STARTS,
  'webhooks.receive': STARTS,
  'agents.validate': READS,
  'workflows.validate': READS,
  'api_keys.validate': READS,
  'seal.attest': TOOL_CALLS,
  'seal.invoke': TOOL_CALLS,
  'seal.invoke_alias': TOOL_CALLS,
  'tools.call': BY_TOOL,
  '/mcp': BY_TOOL,
};

/** Methods of gRPC that change something, each with its operation. Starts and tool calls are excluded for the same reasons. */
export const RECORDED_METHODS: Readonly<Record<string, string>> = {
  '/svc.runtime.v1.SvcRuntime/ExecuteSystemCommand': 'commands.execute',
  '/svc.runtime.v1.SvcRuntime/StoreMemoryPattern': 'patterns.store',
  '/svc.cluster.v1.NodeClusterService/ChallengeNode': 'nodes.attest',
  '/svc.cluster.v1.NodeClusterService/RegisterNode': 'nodes.register',
  '/svc.cluster.v1.NodeClusterService/DeregisterNode': 'nodes.deregister',
  '/svc.cluster.v1.NodeClusterService/PushConfig': 'cluster.apply_config',
};

/** Members of an answer that name what was changed, the most precise first. Never a value: keys and tokens are not here. */
const NAMING = ['id', 'agent_id', 'workflow_id', 'execution_id', 'volume_id', 'session_id', 'name', 'path', 'source'];

const members = (value: unknown): Map<string, unknown> =>
  new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);

/** The name or id in the path of a call; null when there is none. */
export function targetOfInput(params: unknown): string | null {
  const named = [...members(params).values()].filter((value) => typeof value === 'string');
  return named.length === 0 ? null : named.join('/');
}

/** The name or id that an answer reports as changed; null when there is none. */
export function targetOfAnswer(answer: unknown): string | null {
  const fields = members(answer);
  for (const name of NAMING) {
    const value = fields.get(name);
    if (typeof value === 'string') return value;
  }
  const tenant = fields.get('tenant');
  const subject = fields.get('subject');
  if (typeof tenant !== 'string') return null;
  return typeof subject === 'string' ? `${tenant}/${subject}` : tenant;
}

/**
 * The entry of a storage event. A blocked path and a full volume have the error that their caller got. Administrators of a
 * tenant read entries but not the runs of its users, so no path of such a run is in them.
 */
export function storageOccurrence(published: OwnedStorageEvent): Occurrence {
  const { event, tenant, volume_id, path, workflow_execution_id, owner } = published;
  const of = {
    tenant,
    operation: `storage.${event}`,
    subject: workflow_execution_id,
    target: path === null || owner !== null ? volume_id : `${volume_id}/${path.replace(/^\/+/, '')}`,
  };
  if (event === 'PathTraversalBlocked') return { ...of, outcome: 'denied', error: 'forbidden' };
  if (event === 'QuotaExceeded') return { ...of, outcome: 'failed', error: 'quota_exceeded' };
  return { ...of, outcome: 'ok', error: null };
}
