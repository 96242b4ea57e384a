import type { StartExecution } from '../../../actors/execution/api.ts';
import { parseAgentManifest } from '../../../manifests/agent/parse.ts';
import type { AgentManifest } from '../../../manifests/agent/schema.ts';
import type { ForwardExecutionRequest } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { contextOf } from '../execute-agent-request.ts';
import type { GrpcLimits } from '../limits.ts';
import { invalid } from './wire-names.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const MAX_AGENT_ID_CHARS = 128;

/** Throws `invalid_argument` naming the field. */
export function uuidOf(id: string, field: string): string {
  if (!UUID.test(id)) throw invalid(field, 'a UUID');
  return id.toLowerCase();
}

/**
 * The execution that a controller hands to this worker, to be started in a partition held here (design P4). Throws
 * `invalid_argument` naming the field, `invalid_manifest` with path and line of each problem.
 */
export function forwardedStart(
  request: ForwardExecutionRequest,
  identity: Identity,
  limits: GrpcLimits,
): StartExecution {
  const { agent_id, input } = request;
  const executionId = uuidOf(request.execution_id, 'execution_id');
  if (agent_id === '' || agent_id.length > MAX_AGENT_ID_CHARS) throw invalid('agent_id', 'the id of an agent');
  const context = contextOf(request.context_json, limits);
  return {
    executionId,
    agentId: agent_id,
    manifest: manifestOf(request.manifest_yaml),
    input,
    identity,
    here: true,
    ...(context === undefined ? {} : { context }),
  };
}

function manifestOf(text: string): AgentManifest {
  const parsed = parseAgentManifest(text);
  if (parsed.ok) return parsed.manifest;
  const [first] = parsed.problems;
  const message = `manifest_yaml: ${first === undefined ? 'not a manifest' : `${first.path}: ${first.message}`}`;
  throw new SvcError('invalid_manifest', message, { field: 'manifest_yaml', details: parsed.problems });
}
