import type { StimulusRoutes } from '../../../../catalog/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { SourceParams, StimulusRoute, StimulusRouteBody } from '../../schemas/stimuli.ts';

const schema = {
  tags: ['stimuli'],
  summary: 'Route a source to a workflow, instead of where it went before',
  headers: CallerHeaders,
  params: SourceParams,
  body: StimulusRouteBody,
  response: { 200: StimulusRoute, ...problemSchemas({ style: 'coded', hasBody: true, also: [409] }) },
};

/** PUT /v1/stimuli/routes/{source}. */
export function putRouteRoute(app: RestApp, routes: StimulusRoutes): void {
  app.put('/v1/stimuli/routes/:source', { config: { access: 'write' }, schema }, async (request) =>
    routes.put(callerOf(request), request.params.source, request.body.workflow),
  );
}
