import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { VolumeIdParams } from '../../schemas/volumes.ts';
import type { VolumeRouteParts } from './parts.ts';

const schema = {
  tags: ['volumes'],
  summary: 'Delete a volume with its files',
  headers: CallerHeaders,
  params: VolumeIdParams,
  response: {
    200: z.object({ volume_id: z.string(), deleted: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409] }),
  },
};

/** DELETE /v1/volumes/{id}. While a running execution uses it, it is 409. */
export function deleteVolumeRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.delete('/v1/volumes/:id', { config: { access: 'write' }, schema }, async (request) => {
    const id = request.params.id.toLowerCase();
    await volumes.delete(callerOf(request), id);
    return { volume_id: id, deleted: true as const };
  });
}
