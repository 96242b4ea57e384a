import { z } from 'zod';
import { SvcError } from '../../../runtime/errors.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { problemSchemas } from '../schemas/problems.ts';

const schema = {
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
  app.get('/health/ready', { config: { access: 'public' }, schema }, async () => {
    const { ready, why } = await health.ready();
    if (!ready) throw new SvcError('unavailable', why ?? 'The node is not ready.');
    return { status: 'ready' as const };
  });
}
