import { bearerToken, type ExecutionTokens } from '../../security/api.ts';
import { gatewayCaller } from '../internal/gateway.ts';
import type { SealParts } from '../seal/parts.ts';
import { single } from './access.ts';
import { attestAgent } from './attest-agent.ts';
import { invokeTool } from './invoke-tool.ts';
import type { GrpcLogger } from './parts.ts';
import type { SealCallers } from './seal-caller.ts';
import type { UnaryInBytes } from './service.ts';

/**
 * AttestAgent and InvokeTool for the internal address (design S5): `authorization: Bearer` is the capability token of the
 * execution there. An agent attests with it; an envelope stands for itself without one.
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
