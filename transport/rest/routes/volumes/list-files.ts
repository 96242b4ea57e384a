import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { DirectoryQuery, FileList, VolumeIdParams } from '../../schemas/volumes.ts';
import { FILE_STATUSES, type VolumeRouteParts } from './parts.ts';

const MOST = 1_000;

const schema = {
  tags: ['volumes'],
  summary: 'List a directory of a volume',
  headers: CallerHeaders,
  params: VolumeIdParams,
  querystring: DirectoryQuery,
  response: { 200: FileList, ...problemSchemas({ style: 'coded', also: FILE_STATUSES }) },
};

/** GET /v1/volumes/{id}/files?path=. */
export function listFilesRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.get('/v1/volumes/:id/files', { config: { access: 'read' }, schema }, async (request) => {
    const { path } = request.query;
    const id = request.params.id.toLowerCase();
    await volumes.requireSeen(callerOf(request), id);
    const { entries, truncated } = await volumes.files.list(callerOf(request).tenant, id, path, MOST);
    return { path, entries: [...entries], truncated };
  });
}
