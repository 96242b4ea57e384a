import type { FastifyRequest } from 'fastify';
import type { Starter } from '../../../../tools/management/ports.ts';
import { executionIdFor } from '../../../idempotency.ts';
import { callerOf } from '../../request-context.ts';

/** Who starts it, under an id that the same key always gives; `what` keeps the keys of kinds apart. */
export function starterOf(request: FastifyRequest, what: string): Starter {
  const identity = callerOf(request);
  const key = request.headers['idempotency-key'];
  const told = typeof key === 'string' ? `${what} ${key}` : undefined;
  return { identity, trace: request.trace, executionId: executionIdFor(identity.tenant, told) };
}
