import type { StimulusApi } from '../../../../actors/stimulus/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { StimulusIdParams, StimulusRecord } from '../../schemas/stimuli.ts';

const schema = {
  tags: ['stimuli'],
  summary: 'Show what became of a stimulus',
  headers: CallerHeaders,
  params: StimulusIdParams,
  response: { 200: StimulusRecord, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/stimuli/{id}. */
export function getStimulusRoute(app: RestApp, stimuli: StimulusApi): void {
  app.get('/v1/stimuli/:id', { config: { access: 'read' }, schema }, async (request) =>
    stimuli.get(callerOf(request).tenant, request.params.id.toLowerCase()),
  );
}
