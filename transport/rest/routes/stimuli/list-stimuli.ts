import { z } from 'zod';
import type { StimulusApi } from '../../../../actors/stimulus/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, pageAsked, pageFields } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { StimulusList } from '../../schemas/stimuli.ts';

const MOST = 1_000;

const schema = {
  tags: ['stimuli'],
  summary: 'List stimuli, newest first',
  headers: CallerHeaders,
  querystring: z.object(pageFields(20, MOST)),
  response: { 200: StimulusList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/stimuli. */
export function listStimuliRoute(app: RestApp, stimuli: StimulusApi): void {
  app.get('/v1/stimuli', { config: { access: 'read' }, schema }, async (request) => {
    const { items, ...next } = await stimuli.list(callerOf(request).tenant, pageAsked(request.query, MOST));
    return { stimuli: items, ...next };
  });
}
