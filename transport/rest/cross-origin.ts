import type { FastifyInstance, FastifyReply } from 'fastify';

/** How long a browser may remember the answer to its question, seconds. */
const MAX_AGE_S = 600;

/**
 * CORS for the origins of `spec.network.cors.allow`, and for nobody else: their pages may read answers and send every
 * method. Without an entry nothing is answered to a browser's question, so it keeps pages of other sites away.
 */
export function allowOrigins(app: FastifyInstance, allowed: ReadonlySet<string>): void {
  if (allowed.size === 0) return;
  app.addHook('onRequest', async (request, reply) => {
    reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return;
    reply.header('access-control-allow-origin', origin);
    reply.header('access-control-expose-headers', 'traceparent, retry-after, www-authenticate');
    reply.header('cross-origin-resource-policy', 'cross-origin');
    const method = request.headers['access-control-request-method'];
    if (request.method === 'OPTIONS' && method !== undefined) return answerPreflight(reply);
  });
}

function answerPreflight(reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .headers({
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'authorization, content-type, x-tenant-id, idempotency-key, last-event-id, traceparent, mcp-protocol-version',
      'access-control-max-age': String(MAX_AGE_S),
    })
    .send();
}
