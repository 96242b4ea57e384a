import type { FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../../../runtime/errors.ts';
import type { ExecutionTokens } from '../../../../security/api.ts';
import { gatewayCaller } from '../../../internal/gateway.ts';
import { tokenOf } from '../../../internal/token-path.ts';
import type { SealCaller } from '../../../seal/parts.ts';
import type { RestLimits } from '../../limits.ts';
import { callerOf } from '../../request-context.ts';

/** Where the routes of SEAL are reached: behind the bearer like every route, or on the internal address (design S5). */
export type SealAccess =
  | { readonly bearer: true }
  /** An agent has no bearer; the capability token of its execution, when it is sent, says whose it is. */
  | { readonly bearer: false; readonly tokens: ExecutionTokens; readonly limits?: Partial<RestLimits> };

export async function sealCaller(request: FastifyRequest, access: SealAccess): Promise<SealCaller | null> {
  if (access.bearer) {
    const identity = callerOf(request);
    return { tenant: identity.tenant, identity, verified: identity.kind !== 'local' };
  }
  const token = tokenOf(request.raw);
  if (token === undefined) return null;
  return { ...(await gatewayCaller(access.tokens, token)), verified: true };
}

/** Ends when nobody waits for the answer any more. What was asked for goes on. */
export function whileClientWaits(reply: FastifyReply['raw']): AbortSignal {
  const gone = new AbortController();
  reply.once('close', () => {
    if (!reply.writableFinished) gone.abort(new SvcError('cancelled', 'the client is gone'));
  });
  return gone.signal;
}
