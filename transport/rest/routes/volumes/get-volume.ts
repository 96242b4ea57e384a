import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { VolumeAnswer, VolumeIdParams } from '../../schemas/volumes.ts';
import type { VolumeRouteParts } from './parts.ts';

const schema = {
  tags: ['volumes'],
  summary: 'Show a volume',
  headers: CallerHeaders,
  params: VolumeIdParams,
  response: { 200: VolumeAnswer, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/volumes/{id}. */
export function getVolumeRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.get('/v1/volumes/:id', { config: { access: 'read' }, schema }, async (request) =>
    volumes.get(callerOf(request), request.params.id.toLowerCase()),
  );
}
