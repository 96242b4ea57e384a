import type { DispatchApi } from '../../actors/execution/api.ts';
import type { GatewayAnswer, GatewayRequest } from '../../effects/agents/bootstrap/api.ts';
import type { CallOptions } from '../../runtime/client.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ExecutionTokens } from '../../security/api.ts';

/** Whose bootstrap calls: what its capability token says (design S5). */
export interface GatewayCaller {
  readonly tenant: string;
  readonly executionId: string;
}

/**
 * One exchange of the dispatch gateway (spec 2), the same over REST, gRPC and a container's mailbox. The wait ends with
 * `options.signal`, the loop does not. Throws `forbidden` for a request that speaks of another execution than the caller's.
 */
export function answerGateway(
  dispatch: DispatchApi,
  caller: GatewayCaller,
  request: GatewayRequest,
  options: CallOptions,
): Promise<GatewayAnswer> {
  if (request.execution_id.toLowerCase() !== caller.executionId) {
    throw new SvcError('forbidden', 'execution_id: expected the execution that the token was given to');
  }
  const { tenant, executionId } = caller;
  if (request.type === 'generate') {
    const { type: _type, execution_id: _execution, ...generate } = request;
    return dispatch.generate(tenant, executionId, generate, options);
  }
  const { type: _type, execution_id: _execution, ...result } = request;
  return dispatch.dispatchResult(tenant, executionId, result, options);
}

/** The caller of a token. Throws `unauthenticated` without one or for one that does not hold, `unavailable`. */
export async function gatewayCaller(tokens: ExecutionTokens, token: string | undefined): Promise<GatewayCaller> {
  if (token === undefined) throw new SvcError('unauthenticated', "The execution's capability token is needed.");
  const { tenant, executionId } = await tokens.verify(token);
  return { tenant, executionId: executionId.toLowerCase() };
}
