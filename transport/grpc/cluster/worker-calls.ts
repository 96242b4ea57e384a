import { createHash } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import {
  ForwardExecutionRequest,
  PushConfigRequest,
  PushConfigResponse,
} from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { delegatedTenant, type NodeIdentity } from '../../../security/api.ts';
import { startOnce } from '../../start-execution.ts';
import { single } from '../access.ts';
import { traceOfCall } from '../call-context.ts';
import type { StreamInBytes, UnaryInBytes } from '../service.ts';
import { streamExecution } from '../stream-execution.ts';
import { openedCall, sealed } from './envelope.ts';
import { forwardedStart } from './forward-request.ts';
import type { Applied, ClusterParts, ClusterWorker } from './parts.ts';

/**
 * ForwardExecution (spec 1): starts an execution on this worker and streams its events as ExecuteAgent does. The same
 * `execution_id` again streams the same execution from its first event.
 */
export const forwardExecution = (parts: ClusterParts): StreamInBytes =>
  streamExecution(parts, async (call, signal) => {
    const { node, request } = await openedCall(call, ForwardExecutionRequest, parts);
    requireController(node);
    const identity = actingFor(node, call.metadata);
    const { executions } = workerOf(parts);
    const start = forwardedStart(request, identity, parts.limits);
    const { execution_id } = await startOnce(executions, start, { trace: traceOfCall(call.metadata), signal });
    return { tenant: identity.tenant, executionId: execution_id, executions };
  });

/** PushConfig (spec 1, rule 3): a text that is whole and valid is taken over, any other is refused with the reason. */
export const pushConfig = (parts: ClusterParts): UnaryInBytes =>
  sealed(parts, PushConfigRequest, async ({ node, request: { config_yaml, config_hash } }) => {
    requireController(node);
    const applied: Applied =
      createHash('sha256').update(config_yaml).digest('hex') === config_hash
        ? await workerOf(parts).applyConfig(config_yaml)
        : { accepted: false, reason: 'config_hash is not the SHA-256 of config_yaml in lower-case hex' };
    const { accepted } = applied;
    return PushConfigResponse.encode(
      applied.accepted ? { accepted, rejection_reason: undefined } : { accepted, rejection_reason: applied.reason },
    ).finish();
  });

function workerOf({ worker }: ClusterParts): ClusterWorker {
  if (worker === null) throw new SvcError('failed_precondition', 'this node is not a worker');
  return worker;
}

/** Only controllers hand out work and configuration. */
function requireController({ role }: NodeIdentity): void {
  // A hybrid that acts as a controller shows the token it signed itself; what it was attested as may have been removed.
  if (role === 'CONTROLLER') return;
  throw new SvcError('forbidden', `only a controller may call this: the token is for role ${role}`);
}

/** The controller as a service account of the tenant it names (spec 1, Endpoints, rule 1). */
const actingFor = ({ nodeId }: NodeIdentity, metadata: Metadata): Identity => ({
  kind: 'service_account',
  subject: `node:${nodeId}`,
  tenant: delegatedTenant(single(metadata, 'x-tenant-id')),
  roles: [],
  tier: 'enterprise',
});
