import { z } from 'zod';
import type { StimulusApi } from '../../../../actors/stimulus/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, limitField, skipField } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { StimulusList } from '../../schemas/stimuli.ts';

const MOST = 1_000;

const schema = {
  tags: ['stimuli'],
  summary: 'List stimuli, newest first',
  headers: CallerHeaders,
  querystring: z.object({ limit: limitField(20, MOST), skip: skipField }),
  response: { 200: StimulusList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/stimuli. */
export function listStimuliRoute(app: RestApp, stimuli: StimulusApi): void {
  app.get('/v1/stimuli', { config: { access: 'read' }, schema }, async (request) => {
    const { limit, skip } = request.query;
    return { stimuli: await stimuli.list(callerOf(request).tenant, { limit: Math.min(limit, MOST), skip }) };
  });
}
