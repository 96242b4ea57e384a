import type { FastifyBaseLogger } from 'fastify';
import type { ExecutionTokens } from '../../security/api.ts';
import type { DispatchApi } from '../../usecases/gateway.ts';
import type { RestLimits } from '../rest/limits.ts';
import type { RestApp } from '../rest/parts.ts';

/** The ports of the server of the internal address. */
export interface InternalServerParts {
  readonly dispatch: DispatchApi;
  readonly tokens: ExecutionTokens;
  readonly logger: FastifyBaseLogger;
  /** Adds the SEAL routes, which need no bearer token here. They are also served under /x/TOKEN. */
  readonly addSealRoutes?: (app: RestApp) => void;
  /** Adds the operator's routes: /metrics. They must have access `public`; programs in a sandbox cannot reach them. */
  readonly addRoutes?: (app: RestApp) => void;
  /** Whether an address belongs to a container of agents, which cannot reach the operator's routes either. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<RestLimits>;
}
