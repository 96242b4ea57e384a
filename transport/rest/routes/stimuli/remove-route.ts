import type { StimulusRoutes } from '../../../../catalog/api.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { RemovedRoute, SourceParams } from '../../schemas/stimuli.ts';

const schema = {
  tags: ['stimuli'],
  summary: 'Remove a direct route',
  description: 'One of the settings of the node is 409: it is removed there.',
  headers: CallerHeaders,
  params: SourceParams,
  response: { 200: RemovedRoute, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }) },
};

/** DELETE /v1/stimuli/routes/{source}. */
export function removeRouteRoute(app: RestApp, routes: StimulusRoutes): void {
  app.delete('/v1/stimuli/routes/:source', { config: { access: 'write' }, schema }, async (request) => {
    const source = request.params.source.toLowerCase();
    await routes.remove(callerOf(request).tenant, source);
    return { source, removed: true as const };
  });
}
