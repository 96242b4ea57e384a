import type { NewPattern, PatternQuery, Patterns } from '../../catalog/patterns-api.ts';
import {
  QueryMemoryRequest,
  QueryMemoryResponse,
  StoreMemoryPatternRequest,
  StoreMemoryPatternResponse,
} from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { callerOf } from './call-context.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryInBytes, unary } from './service.ts';

/** StoreMemoryPattern (spec 1, rule 4): a new pattern in the caller's tenant, or more weight for the one that means the same. */
export const storeMemoryPattern = (parts: Pick<GrpcParts, 'logger'>, patterns: Patterns): UnaryInBytes =>
  unary(parts, async ({ metadata, request }) => {
    const { tenant } = callerOf(metadata).identity;
    const stored = await patterns.store(tenant, patternOf(decoded(StoreMemoryPatternRequest, request)));
    return StoreMemoryPatternResponse.encode(stored).finish();
  });

/** Empty code is none: proto3 clients often send it so. */
function patternOf(request: StoreMemoryPatternRequest): NewPattern {
  const { solution_code } = request;
  return {
    errorSignature: request.error_signature,
    errorType: request.error_type,
    errorMessage: request.error_message,
    solutionApproach: request.solution_approach,
    ...(solution_code === undefined || solution_code === '' ? {} : { solutionCode: solution_code }),
    tags: request.tags,
  };
}

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
