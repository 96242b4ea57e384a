import type { StimulusRoutes } from '../../../../catalog/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { StimulusRouteList } from '../../schemas/stimuli.ts';

const schema = {
  tags: ['stimuli'],
  summary: 'List the direct routes from sources to workflows',
  headers: CallerHeaders,
  response: { 200: StimulusRouteList, ...problemSchemas({ style: 'coded' }) },
};

/** GET /v1/stimuli/routes. */
export function listRoutesRoute(app: RestApp, routes: StimulusRoutes): void {
  app.get('/v1/stimuli/routes', { config: { access: 'read' }, schema }, async (request) => ({
    routes: await routes.list(callerOf(request).tenant),
  }));
}
