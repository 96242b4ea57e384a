import {
  AttestAgentRequest,
  AttestAgentResponse,
  InvokeToolRequest,
  InvokeToolResponse,
} from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { bearerToken, type ExecutionTokens, parseAgentPublicKey } from '../../security/api.ts';
import { attestAgent as attest } from '../../usecases/seal/attest-agent.ts';
import { invokeTool as invoke } from '../../usecases/seal/invoke-tool.ts';
import type { SealParts } from '../../usecases/seal/parts.ts';
import { gatewayCaller } from '../internal/dispatch-gateway.ts';
import { single } from './access.ts';
import { type SealCallers, traceOfCall, whileCalled } from './call-context.ts';
import type { GrpcLogger } from './parts.ts';
import { decoded, type UnaryInBytes, unary } from './service.ts';

/**
 * AttestAgent and InvokeTool for the internal address (S5). There `authorization: Bearer` carries the capability token
 * of the execution. An agent attests with it; an envelope needs no token besides its own.
 */
export function internalSealMethods(
  parts: { readonly logger: GrpcLogger; readonly tokens: ExecutionTokens },
  seal: SealParts,
): { readonly attestAgent: UnaryInBytes; readonly invokeTool: UnaryInBytes } {
  const callers: SealCallers = async (metadata) => {
    const token = bearerToken(single(metadata, 'authorization'));
    return token === undefined ? null : { ...(await gatewayCaller(parts.tokens, token)), verified: true };
  };
  return { attestAgent: attestAgent(parts, seal, callers), invokeTool: invokeTool(parts, seal, callers) };
}

/**
 * AttestAgent (G12): gives a security token to an agent whose execution runs. Answers INVALID_ARGUMENT naming the
 * field, and NOT_FOUND, FAILED_PRECONDITION and PERMISSION_DENIED as usecases/seal/attest-agent.ts.
 */
export const attestAgent = (
  parts: { readonly logger: GrpcLogger },
  seal: SealParts,
  callers: SealCallers,
): UnaryInBytes =>
  unary(parts, async (call) => {
    const { public_key_pem, ...rest } = decoded(AttestAgentRequest, call.request);
    const publicKey = parseAgentPublicKey({ pem: public_key_pem });
    const caller = await callers(call.metadata);
    const trace = traceOfCall(call.metadata);
    const { security_token } = await whileCalled(call, (signal) =>
      attest(seal, { ...rest, publicKey }, { caller, trace, signal }),
    );
    return AttestAgentResponse.encode({ security_token }).finish();
  });

/**
 * InvokeTool (G13): makes one tool call from a signed envelope. `result_json` is the JSON-RPC response of a call that
 * was made. A refused call is a status, with the precise reason in the trailer `svc-error-reason` and in ErrorInfo.
 */
export const invokeTool = (
  parts: { readonly logger: GrpcLogger },
  seal: SealParts,
  callers: SealCallers,
): UnaryInBytes =>
  unary(parts, async (call) => {
    const envelope = decoded(InvokeToolRequest, call.request);
    const caller = await callers(call.metadata);
    const trace = traceOfCall(call.metadata);
    const invoked = await whileCalled(call, (signal) => invoke(seal, envelope, { caller, trace, signal }));
    if (!invoked.ok) throw invoked.error;
    return InvokeToolResponse.encode({ result_json: Buffer.from(JSON.stringify(invoked.response)) }).finish();
  });
