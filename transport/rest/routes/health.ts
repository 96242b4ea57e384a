import { z } from 'zod';
import type { RestApp } from '../parts.ts';
import { problemSchemas } from '../schemas/problems.ts';

const Alive = z.object({ status: z.literal('ok') });
const schema = {
  tags: ['health'],
  summary: 'The process runs',
  security: [],
  response: { 200: Alive, ...problemSchemas({ style: 'coded', isPublic: true }) },
};

/** GET /health (spec 2) and its twin for orchestrators: the process runs. */
export function healthRoutes(app: RestApp): void {
  for (const url of ['/health', '/health/live']) {
    app.get(url, { config: { access: 'public' }, schema }, async () => ({ status: 'ok' as const }));
  }
}
