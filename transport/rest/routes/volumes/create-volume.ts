import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { VolumeAnswer, VolumeBody } from '../../schemas/volumes.ts';
import type { VolumeRouteParts } from './parts.ts';

const schema = {
  tags: ['volumes'],
  summary: 'Create a volume',
  headers: CallerHeaders,
  body: VolumeBody,
  response: { 200: VolumeAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409, 507] }) },
};

/** POST /v1/volumes. */
export function createVolumeRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.post('/v1/volumes', { config: { access: 'write' }, schema }, async (request) => {
    const { name, storage_class, size_limit_bytes, ttl_hours } = request.body;
    return volumes.create(callerOf(request), {
      ...{ name, storage_class },
      ...(size_limit_bytes === undefined ? {} : { size_limit_bytes }),
      ...(ttl_hours === undefined ? {} : { ttl_hours }),
    });
  });
}
