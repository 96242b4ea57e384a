import type { FastifyInstance } from 'fastify';
import type { Admission } from '../admission.ts';

/**
 * What brings new work. Everything else is taken always: reads, health, cancels, answers to approvals, signals, removals,
 * and calls of tools, which may be any of these.
 */
const NEW_WORK: ReadonlySet<string> = new Set([
  '/v1/agents',
  '/v1/agents/:id/execute',
  '/v1/agents/generate',
  '/v1/execute',
  '/v1/execute/intent',
  '/v1/executions',
  '/v1/stimuli',
  '/v1/webhooks/:source',
  '/v1/workflows',
  '/v1/workflows/:name/run',
  '/v1/workflows/generate',
]);

/** Refuses new work of an overloaded node before its body is read, and counts what is under way. */
export function admitStarts(app: FastifyInstance, admission: Admission): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'POST' || !NEW_WORK.has(request.routeOptions.url ?? '')) return;
    const ended = admission.enter();
    // Also when the client has gone before it is answered.
    reply.raw.once('close', ended);
  });
}
