import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { DeleteQuery, VolumeIdParams } from '../../schemas/volumes.ts';
import { FILE_STATUSES, type VolumeRouteParts } from './parts.ts';

const schema = {
  tags: ['volumes'],
  summary: 'Delete a file or directory of a volume',
  headers: CallerHeaders,
  params: VolumeIdParams,
  querystring: DeleteQuery,
  response: {
    200: z.object({ path: z.string(), deleted: z.literal(true) }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: FILE_STATUSES }),
  },
};

/** DELETE /v1/volumes/{id}/files?path=. */
export function deleteFileRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.delete('/v1/volumes/:id/files', { config: { access: 'write' }, schema }, async (request) => {
    const { path, recursive } = request.query;
    const all = recursive === '' || recursive === 'true';
    const id = request.params.id.toLowerCase();
    await volumes.requireSeen(callerOf(request), id);
    await volumes.files.delete(callerOf(request).tenant, id, path, { recursive: all });
    return { path, deleted: true as const };
  });
}
