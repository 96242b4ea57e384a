import type { FastifyInstance } from 'fastify';
import type { RestLimits } from './limits.ts';

/** Routes that carry a payload: what starts runs, manifests, calls of tools, files (design K7). Paths as routes have them. */
const PAYLOADS: ReadonlySet<string> = new Set([
  '/v1/agents',
  '/v1/agents/:id/execute',
  '/v1/agents/generate',
  '/v1/cluster/config',
  '/v1/dispatch-gateway',
  '/v1/execute',
  '/v1/execute/intent',
  '/v1/executions',
  '/v1/invoke',
  '/v1/seal/invoke',
  '/v1/stimuli',
  '/v1/tools/:name',
  '/v1/volumes/:id/files/content',
  '/v1/workflows',
  '/v1/workflows/:name/run',
  '/v1/workflows/generate',
  '/v1/workflows/validate',
]);

/** Routes that carry a text of a person or a program, of at most 65,536 characters. */
const TEXTS: ReadonlySet<string> = new Set([
  '/v1/cortex/patterns',
  '/v1/human-approvals/:id/approve',
  '/v1/human-approvals/:id/reject',
  '/v1/secrets/:path',
  '/v1/workflows/executions/:id/signal',
]);

/**
 * Gives every route the bytes that a body of its class may have, unless it says so itself: payloads as much as anything,
 * texts less, every other route what a few fields need, and a route that asks for no caller the least.
 */
export function boundBodies(app: FastifyInstance, limits: RestLimits): void {
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= bytesOf(route.url, route.config?.access === 'public', limits);
  });
}

function bytesOf(path: string, isPublic: boolean, limits: RestLimits): number {
  const most = PAYLOADS.has(path) ? limits.bodyBytes : TEXTS.has(path) ? limits.textBytes : limits.controlBytes;
  return Math.min(isPublic && !PAYLOADS.has(path) ? limits.strangerBytes : most, limits.bodyBytes);
}
