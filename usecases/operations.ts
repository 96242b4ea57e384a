import { ACTOR_OPERATIONS } from './operations/actors.ts';
import { AGENT_OPERATIONS } from './operations/agents.ts';
import { API_KEY_OPERATIONS } from './operations/api-keys.ts';
import { APPROVAL_OPERATIONS } from './operations/approvals.ts';
import { AUDIT_OPERATIONS } from './operations/audit.ts';
import { CALLER_OPERATIONS } from './operations/callers.ts';
import { CLUSTER_OPERATIONS, JOIN_TOKEN_OPERATIONS } from './operations/cluster.ts';
import { DEAD_LETTER_OPERATIONS } from './operations/dead-letters.ts';
import { EXECUTION_OPERATIONS } from './operations/executions.ts';
import { FAULT_OPERATIONS } from './operations/faults.ts';
import { MANIFEST_SCHEMA_OPERATIONS } from './operations/manifest-schemas.ts';
import { MESSAGE_OPERATIONS } from './operations/messages.ts';
import { MODEL_PROVIDER_OPERATIONS } from './operations/model-providers.ts';
import type { Operation } from './operations/operation.ts';
import { PATTERN_OPERATIONS } from './operations/patterns.ts';
import { RATE_LIMIT_OPERATIONS } from './operations/rate-limits.ts';
import { RECORDING_OPERATIONS } from './operations/recordings.ts';
import { RUN_OPERATIONS } from './operations/runs.ts';
import { SECRET_OPERATIONS } from './operations/secrets.ts';
import { STIMULUS_OPERATIONS } from './operations/stimuli.ts';
import { TRACE_OPERATIONS } from './operations/traces.ts';
import { VOLUME_OPERATIONS } from './operations/volumes.ts';
import { WORKFLOW_EXECUTION_OPERATIONS } from './operations/workflow-executions.ts';
import { WORKFLOW_OPERATIONS } from './operations/workflows.ts';

/**
 * The table of operations that callers can call, each listed once. REST serves its routes from it, and the API
 * description is generated from it.
 */
export const OPERATIONS: readonly Operation[] = [
  ...AGENT_OPERATIONS,
  ...EXECUTION_OPERATIONS,
  ...WORKFLOW_OPERATIONS,
  ...WORKFLOW_EXECUTION_OPERATIONS,
  ...RUN_OPERATIONS,
  ...APPROVAL_OPERATIONS,
  ...STIMULUS_OPERATIONS,
  ...VOLUME_OPERATIONS,
  ...PATTERN_OPERATIONS,
  ...MANIFEST_SCHEMA_OPERATIONS,
  ...CALLER_OPERATIONS,
  ...API_KEY_OPERATIONS,
  ...RATE_LIMIT_OPERATIONS,
  ...SECRET_OPERATIONS,
  ...JOIN_TOKEN_OPERATIONS,
  ...CLUSTER_OPERATIONS,
  ...MODEL_PROVIDER_OPERATIONS,
  ...FAULT_OPERATIONS,
  ...ACTOR_OPERATIONS,
  ...DEAD_LETTER_OPERATIONS,
  ...TRACE_OPERATIONS,
  ...MESSAGE_OPERATIONS,
  ...RECORDING_OPERATIONS,
  ...AUDIT_OPERATIONS,
];

const EVENTS = 'a stream of events';
const FILES = 'files are streams of bytes';
const YAML_ANSWER = 'the answer is YAML, not JSON';
const YAML_BODY = 'YAML is a body too';
const PUBLIC = 'public: needs no caller';
const ENVELOPE = 'an envelope identifies the caller, and answers are JSON-RPC';
const SESSIONS = 'its answer consists of parts of a SEAL session, which the route file has';
const TOOLS = 'each tool has its own contract';
const FLEET = 'its answer joins node leases with registered peers, which the route file does';
const CONFIG = 'it goes with the PUT of the configuration, which takes YAML';
const PIPELINE = 'a tool of the same name fixes its request and answer';

/** Routes that are not in the table: their operationIds, each with the reason why a transport serves it by itself. */
export const ESCAPES: Readonly<Record<string, string>> = {
  'health.get': PUBLIC,
  'health.live': PUBLIC,
  'health.ready': PUBLIC,
  'jwks.get': PUBLIC,
  'protected_resource.get': PUBLIC,
  'protected_resource.get_mcp': PUBLIC,
  'agents.deploy': YAML_BODY,
  'agents.validate': YAML_BODY,
  'agents.export': YAML_ANSWER,
  'agents.generate': PIPELINE,
  'executions.stream': EVENTS,
  'workflows.deploy': YAML_BODY,
  'workflows.validate': YAML_BODY,
  'workflows.export': YAML_ANSWER,
  'workflows.generate': PIPELINE,
  'workflow_executions.stream': EVENTS,
  'workflow_executions.stream_logs': EVENTS,
  'feed.stream': EVENTS,
  'execute.start': PIPELINE,
  'execute.intent': PIPELINE,
  'execute.get': PIPELINE,
  'stimuli.ingest': 'the answer to a duplicate names the first delivery',
  'webhooks.receive': 'a signature identifies the caller, and any content type is a body',
  'volume_files.list': FILES,
  'volume_files.read': FILES,
  'volume_files.write': FILES,
  'volume_files.delete': FILES,
  'volume_files.mkdir': FILES,
  'seal.attest': 'agents call it on the internal address too, without a bearer token',
  'seal.invoke': ENVELOPE,
  'seal.invoke_alias': ENVELOPE,
  'seal.list_tools': 'the bearer is the security token of a session',
  'seal_sessions.list': SESSIONS,
  'seal_sessions.get': SESSIONS,
  'seal_sessions.revoke': SESSIONS,
  'seal_sessions.audit': SESSIONS,
  'tap.stream': EVENTS,
  'traces.get': 'it can be a stream of lines',
  'tools.list': TOOLS,
  'tools.call': TOOLS,
  'cluster.status': FLEET,
  'nodes.list': FLEET,
  'nodes.get': FLEET,
  'nodes.drain': FLEET,
  'nodes.shutdown': FLEET,
  'nodes.remove': FLEET,
  'cluster.get_config': CONFIG,
  'cluster.put_config': YAML_BODY,
  'cluster.push_config': CONFIG,
};
