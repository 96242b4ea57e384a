import type { Metadata } from '@grpc/grpc-js';
import { ExecuteAgentRequest, type SecurityPolicy } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { invalidField } from '../../runtime/errors.ts';
import { isJsonObject, type JsonObject } from '../../runtime/json.ts';
import { UUID } from '../../runtime/random.ts';
import { type StartCall, startExecution } from '../../usecases/starts/start-execution.ts';
import { IdempotencyKey } from '../../usecases/starts/start-keys.ts';
import { parseJsonBytes } from '../json-thread.ts';
import { single } from './access.ts';
import { callerOf, hasBegun } from './call-context.ts';
import type { GrpcLimits } from './limits.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type StreamInBytes } from './service.ts';
import { streamExecution } from './stream-execution.ts';

/** ExecuteAgent (G5): starts an execution of a deployed agent in the caller's tenant and streams its events. */
export const executeAgent = (parts: GrpcParts): StreamInBytes =>
  streamExecution(parts, async (call, signal) => {
    const caller = callerOf(call.metadata);
    const asked = await startCallOf(decoded(ExecuteAgentRequest, call.request), parts.limits);
    const idempotencyKey = idempotencyKeyOf(call.metadata);
    const { execution_id, waiting_for } = await startExecution(parts, asked, { ...caller, signal, idempotencyKey });
    hasBegun(call.metadata);
    const started = { tenant: caller.identity.tenant, executionId: execution_id, executions: parts.executions };
    return waiting_for === undefined ? started : { ...started, waitingFor: waiting_for.reason };
  });

function idempotencyKeyOf(metadata: Metadata): string | undefined {
  const field = 'idempotency-key';
  const given = IdempotencyKey.optional().safeParse(single(metadata, field));
  if (given.success) return given.data;
  throw invalidField(field, 'expected 1 to 255 visible ASCII characters');
}

const MAX_AGENT_ID_CHARS = 256;

/** The start that the message requests. Throws `invalid_argument` naming the field. */
async function startCallOf(request: ExecuteAgentRequest, limits: GrpcLimits): Promise<StartCall> {
  const { agent_id, input, context_json, security_policy, workflow_execution_id } = request;
  return {
    context: await contextOf(context_json, limits),
    agent: agentOf(agent_id),
    input,
    securityPolicy: security_policy && policyOf(security_policy),
    workflowExecutionId: workflow_execution_id === undefined ? undefined : workflowOf(workflow_execution_id),
  };
}

/** An agent's id or name. A UUID is lower-cased; a name stays unchanged. */
function agentOf(agentId: string): string {
  if (agentId === '' || agentId.length > MAX_AGENT_ID_CHARS)
    throw invalidField('agent_id', 'expected the UUID or name of an agent');
  return UUID.test(agentId) ? agentId.toLowerCase() : agentId;
}

function workflowOf(id: string): string {
  if (!UUID.test(id)) throw invalidField('workflow_execution_id', 'expected a UUID');
  return id.toLowerCase();
}

/** Parses `context_json`. An empty text means none, since proto3 cannot express a missing field here. */
export async function contextOf(
  text: string,
  { contextBytes, contextDepth }: GrpcLimits,
): Promise<JsonObject | undefined> {
  const field = 'context_json';
  if (text === '') return undefined;
  if (Buffer.byteLength(text) > contextBytes) throw invalidField(field, `expected at most ${contextBytes} bytes`);
  const value = await parseJsonBytes(Buffer.from(text), { field, what: `${field}:`, maxDepth: contextDepth });
  if (!isJsonObject(value)) throw invalidField(field, 'expected a JSON object');
  return value;
}

/** The policy as JSON with the field names of the message. */
function policyOf({ network_policy: network, filesystem_policy: files, resource_limits: limits }: SecurityPolicy) {
  const policy: JsonObject = {};
  if (network !== undefined) policy.network_policy = { ...network };
  if (files !== undefined) policy.filesystem_policy = { ...files };
  if (limits !== undefined) policy.resource_limits = { ...limits };
  return policy;
}
