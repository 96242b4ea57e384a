import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, nextPageField, pageAsked, pageFields } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { VolumeAnswer } from '../../schemas/volumes.ts';
import type { VolumeRouteParts } from './parts.ts';

const USUAL = 100;
const MOST = 1_000;

const schema = {
  tags: ['volumes'],
  summary: 'List volumes',
  description: 'Newest first; those of workflow executions are named EXECUTION/workspace and EXECUTION/shared/NAME.',
  headers: CallerHeaders,
  querystring: z.object(pageFields(USUAL, MOST)),
  response: {
    200: z.object({ volumes: z.array(VolumeAnswer), ...nextPageField }),
    ...problemSchemas({ style: 'coded' }),
  },
};

/** GET /v1/volumes. */
export function listVolumesRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.get('/v1/volumes', { config: { access: 'read' }, schema }, async (request) => {
    const { items, ...next } = await volumes.list(callerOf(request), pageAsked(request.query, MOST));
    return { volumes: items, ...next };
  });
}
