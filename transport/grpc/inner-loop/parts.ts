import type { DispatchApi } from '../../../actors/execution/api.ts';
import type { ExecutionTokens } from '../../../security/api.ts';
import type { Health } from '../../health.ts';
import type { GrpcLimits } from '../limits.ts';
import type { GrpcLogger } from '../parts.ts';
import type { UnaryInBytes } from '../service.ts';

/** The methods of SvcRuntime that agents call without a bearer. */
export interface SealMethods {
  readonly attestAgent: UnaryInBytes;
  readonly invokeTool: UnaryInBytes;
}

/** What gRPC on the internal address translates into calls of. */
export interface InternalGrpcParts {
  readonly dispatch: DispatchApi;
  readonly tokens: ExecutionTokens;
  readonly logger: GrpcLogger;
  readonly health: Health;
  /** Without it AttestAgent and InvokeTool are not served here. */
  readonly seal?: SealMethods;
  readonly limits?: Partial<GrpcLimits>;
}
