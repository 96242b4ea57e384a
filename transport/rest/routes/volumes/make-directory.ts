import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { FilePathQuery, VolumeIdParams } from '../../schemas/volumes.ts';
import { FILE_STATUSES, type VolumeRouteParts } from './parts.ts';

const schema = {
  tags: ['volumes'],
  summary: 'Make a directory in a volume',
  description: 'With its parents; one that is there is fine.',
  headers: CallerHeaders,
  params: VolumeIdParams,
  body: FilePathQuery,
  response: {
    200: z.object({ path: z.string() }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: FILE_STATUSES }),
  },
};

/** POST /v1/volumes/{id}/files/mkdir. */
export function makeDirectoryRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.post('/v1/volumes/:id/files/mkdir', { config: { access: 'write' }, schema }, async (request) => {
    const { path } = request.body;
    await volumes.requireSeen(callerOf(request), request.params.id.toLowerCase());
    await volumes.files.mkdir(callerOf(request).tenant, request.params.id.toLowerCase(), path);
    return { path };
  });
}
