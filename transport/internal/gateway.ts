import { SvcError } from '../../runtime/errors.ts';
import type { ExecutionTokens } from '../../security/api.ts';

/** Whose bootstrap calls: what its capability token says (design S5). */
export interface GatewayCaller {
  readonly tenant: string;
  readonly executionId: string;
}

/** The caller of a token. Throws `unauthenticated` without one or for one that does not hold, `unavailable`. */
export async function gatewayCaller(tokens: ExecutionTokens, token: string | undefined): Promise<GatewayCaller> {
  if (token === undefined) throw new SvcError('unauthenticated', "The execution's capability token is needed.");
  const { tenant, executionId } = await tokens.verify(token);
  return { tenant, executionId: executionId.toLowerCase() };
}
