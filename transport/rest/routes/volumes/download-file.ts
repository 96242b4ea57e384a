import { Readable } from 'node:stream';
import { z } from 'zod';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { FilePathQuery, VolumeIdParams } from '../../schemas/volumes.ts';
import { FILE_STATUSES, type VolumeRouteParts } from './parts.ts';

const schema = {
  tags: ['volumes'],
  summary: 'Download a file of a volume',
  headers: CallerHeaders,
  params: VolumeIdParams,
  querystring: FilePathQuery,
  response: {
    200: { description: 'The content.', content: { 'application/octet-stream': { schema: z.unknown() } } },
    ...problemSchemas({ style: 'coded', also: FILE_STATUSES }),
  },
};

/** GET /v1/volumes/{id}/files/content?path=. */
export function downloadFileRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  const options = { config: { access: 'read' }, schema, exposeHeadRoute: false } as const;
  app.get('/v1/volumes/:id/files/content', options, async (request, reply) => {
    const id = request.params.id.toLowerCase();
    await volumes.requireSeen(callerOf(request), id);
    const file = await volumes.files.download(callerOf(request).tenant, id, request.query.path);
    const content = Readable.from(file.content, { objectMode: false });
    // A client that leaves before the first byte was read has the file closed too.
    content.once('close', () => void file.close().catch((error: unknown) => request.log.warn(error)));
    reply.header('content-disposition', 'attachment');
    reply.header('content-length', file.sizeBytes);
    return reply.type('application/octet-stream').send(content);
  });
}
