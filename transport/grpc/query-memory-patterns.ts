import type { PatternQuery, Patterns } from '../../catalog/patterns-api.ts';
import { QueryMemoryRequest, QueryMemoryResponse } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { callerOf } from './call-context.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryInBytes } from './service.ts';
import { unary } from './unary.ts';

/**
 * QueryMemoryPatterns (spec 1): what solved errors like this one, in the caller's tenant. None is an empty list, no
 * NOT_FOUND: the request names no pattern.
 */
export const queryMemoryPatterns = (parts: Pick<GrpcParts, 'logger'>, patterns: Patterns): UnaryInBytes =>
  unary(parts, async ({ metadata, request }) => {
    const { tenant } = callerOf(metadata).identity;
    const found = await patterns.query(tenant, queryOf(decoded(QueryMemoryRequest, request)));
    return QueryMemoryResponse.encode({ patterns: found.map((pattern) => ({ ...pattern })) }).finish();
  });

/** An empty type is none: proto3 clients often send it so. */
function queryOf({ error_signature, error_type, limit, min_success_score }: QueryMemoryRequest): PatternQuery {
  return {
    errorSignature: error_signature,
    ...(error_type === undefined || error_type === '' ? {} : { errorType: error_type }),
    ...(limit === undefined ? {} : { limit }),
    ...(min_success_score === undefined ? {} : { minSuccessScore: min_success_score }),
  };
}
