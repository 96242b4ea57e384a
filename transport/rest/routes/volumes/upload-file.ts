import { Readable } from 'node:stream';
import { z } from 'zod';
import { SvcError } from '../../../../runtime/errors.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { FilePathQuery, FileWritten, VolumeIdParams } from '../../schemas/volumes.ts';
import { FILE_STATUSES, type VolumeRouteParts } from './parts.ts';

const schema = {
  tags: ['volumes'],
  summary: 'Upload a file to a volume',
  description: 'The body is the content, of any type. The file changes in one step when all of it has arrived.',
  headers: CallerHeaders,
  params: VolumeIdParams,
  querystring: FilePathQuery,
  body: { content: { 'application/octet-stream': { schema: z.unknown() } } },
  response: { 200: FileWritten, ...problemSchemas({ style: 'coded', hasBody: true, also: FILE_STATUSES }) },
};

/** PUT /v1/volumes/{id}/files/content?path=. In a plugin of its own: only here a body is a stream of any type. */
export function uploadFileRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.register((scope: RestApp, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, parsed) => parsed(null, payload));
    scope.put('/v1/volumes/:id/files/content', { config: { access: 'write' }, schema }, async (request) => {
      const encoding = request.headers['content-encoding'];
      if (encoding !== undefined && encoding !== 'identity') {
        throw new SvcError('unsupported_media_type', 'files are taken without Content-Encoding');
      }
      const id = request.params.id.toLowerCase();
      // A refused upload leaves the connection as it is: the client must be able to read why.
      const { body } = request;
      const content = body instanceof Readable ? body.iterator({ destroyOnReturn: false }) : Buffer.alloc(0);
      await volumes.requireSeen(callerOf(request), id);
      return volumes.files.write(callerOf(request).tenant, id, request.query.path, content);
    });
    done();
  });
}
