import { z } from 'zod';
import { SvcError } from '../../../runtime/errors.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { problemSchemas } from '../schemas/problems.ts';

const Alive = z.object({ status: z.literal('ok') });

const healthSchema = {
  tags: ['health'],
  summary: 'The process runs',
  security: [],
  response: { 200: Alive, ...problemSchemas({ style: 'coded', isPublic: true }) },
};

/** GET /health (spec 2) and its twin for orchestrators: the process runs. */
export function healthRoutes(app: RestApp): void {
  for (const url of ['/health', '/health/live']) {
    app.get(url, { config: { access: 'public' }, schema: healthSchema }, async () => ({ status: 'ok' as const }));
  }
}

const healthReadySchema = {
  tags: ['health'],
  summary: 'The node can serve calls',
  security: [],
  response: {
    200: z.object({ status: z.literal('ready') }),
    ...problemSchemas({ style: 'coded', isPublic: true, also: [503] }),
  },
};

/** GET /health/ready: 503 while a part the node needs is down, or the node drains. */
export function healthReadyRoute(app: RestApp, { health }: RestParts): void {
  app.get('/health/ready', { config: { access: 'public' }, schema: healthReadySchema }, async () => {
    const { ready, why } = await health.ready();
    if (!ready) throw new SvcError('unavailable', why ?? 'The node is not ready.');
    return { status: 'ready' as const };
  });
}
