import type { FastifyInstance } from 'fastify';
import { SvcError } from '../../runtime/errors.ts';
import { isSafe } from './local-guard.ts';

/** A recorded run that a node shows instead of serving runs of its own. */
export interface ShownRecording {
  /** Version of the product that recorded it. */
  readonly svc: string;
  readonly recorded_at: string | null;
  readonly run: { readonly kind: string; readonly id: string } | null;
}

/**
 * Refuses every call that could change something, by its method and by the access that its route requires, whatever the path: a
 * new route that does not only read is refused too.
 */
export function refuseChanges(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ method, routeOptions }) => {
    const { access } = routeOptions.config;
    const reads = access === undefined || access === 'public' || access === 'read';
    if (!isSafe(method) || !reads) throw new SvcError('read_only');
  });
}
