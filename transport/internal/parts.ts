import type { FastifyBaseLogger } from 'fastify';
import type { ExecutionTokens } from '../../security/api.ts';
import type { DispatchApi } from '../../usecases/gateway.ts';
import type { RestLimits } from '../rest/limits.ts';
import type { RestApp } from '../rest/parts.ts';

/** What the internal address translates into calls of. */
export interface InternalServerParts {
  readonly dispatch: DispatchApi;
  readonly tokens: ExecutionTokens;
  readonly logger: FastifyBaseLogger;
  /** Adds the routes of SEAL, which need no bearer here; also reached below /x/TOKEN. */
  readonly addSealRoutes?: (app: RestApp) => void;
  /** The operator's routes of this address: /metrics. They must be of access `public`; programs in a sandbox have none of them. */
  readonly addRoutes?: (app: RestApp) => void;
  /** Whether an address is that of a container of agents, which has no operator's route either. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<RestLimits>;
}
