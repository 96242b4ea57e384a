import type { FastifyRequest } from 'fastify';
import type { Starter } from '../../../../tools/management/ports.ts';
import { type StartKey, type StartKeys, startIdFor } from '../../../idempotency.ts';
import { callerOf } from '../../request-context.ts';

/** Who starts it, under the id that its key names; `what` keeps the keys of kinds apart. Throws `conflict`. */
export async function starterOf(
  request: FastifyRequest,
  what: StartKey['what'],
  keys: StartKeys | undefined,
): Promise<Starter> {
  const identity = callerOf(request);
  const given = request.headers['idempotency-key'];
  const key = typeof given === 'string' ? given : undefined;
  return { identity, trace: request.trace, executionId: await startIdFor(keys, { identity, what, key }, request.body) };
}
