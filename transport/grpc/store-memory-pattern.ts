import type { NewPattern, Patterns } from '../../catalog/patterns-api.ts';
import { StoreMemoryPatternRequest, StoreMemoryPatternResponse } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { callerOf } from './call-context.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryInBytes } from './service.ts';
import { unary } from './unary.ts';

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
