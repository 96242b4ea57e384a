import { AttestAgentRequest, AttestAgentResponse } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { parseAgentPublicKey } from '../../security/api.ts';
import { attestAgent as attest } from '../seal/attest-agent.ts';
import type { SealParts } from '../seal/parts.ts';
import { traceOfCall } from './call-context.ts';
import type { GrpcLogger } from './parts.ts';
import { type SealCallers, whileCalled } from './seal-caller.ts';
import { decoded, type UnaryInBytes } from './service.ts';
import { unary } from './unary.ts';

/**
 * AttestAgent (spec 1): a security token for an agent whose execution runs. INVALID_ARGUMENT names the field; NOT_FOUND,
 * FAILED_PRECONDITION and PERMISSION_DENIED as in transport/seal.
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
