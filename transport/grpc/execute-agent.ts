import type { Metadata } from '@grpc/grpc-js';
import { ExecuteAgentRequest } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { SvcError } from '../../runtime/errors.ts';
import { IdempotencyKey } from '../idempotency.ts';
import { startExecution } from '../start-execution.ts';
import { single } from './access.ts';
import { callerOf, hasBegun } from './call-context.ts';
import { startCallOf } from './execute-agent-request.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type StreamInBytes } from './service.ts';
import { streamExecution } from './stream-execution.ts';

/** ExecuteAgent (spec 1): starts an execution of a deployed agent in the caller's tenant and streams its events. */
export const executeAgent = (parts: GrpcParts): StreamInBytes =>
  streamExecution(parts, async (call, signal) => {
    const caller = callerOf(call.metadata);
    const asked = startCallOf(decoded(ExecuteAgentRequest, call.request), parts.limits);
    const key = idempotencyKeyOf(call.metadata);
    const { execution_id, waiting_for } = await startExecution(parts, asked, {
      ...caller,
      signal,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    hasBegun(call.metadata);
    const started = { tenant: caller.identity.tenant, executionId: execution_id, executions: parts.executions };
    return waiting_for === undefined ? started : { ...started, waitingFor: waiting_for.reason };
  });

function idempotencyKeyOf(metadata: Metadata): string | undefined {
  const field = 'idempotency-key';
  const given = IdempotencyKey.optional().safeParse(single(metadata, field));
  if (given.success) return given.data;
  throw new SvcError('invalid_argument', `${field}: expected 1 to 255 visible ASCII characters`, { field });
}
