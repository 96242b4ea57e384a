import { Readable } from 'node:stream';
import { z } from 'zod';
import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import {
  DeleteQuery,
  DirectoryBody,
  DirectoryQuery,
  FileList,
  FilePathQuery,
  FileWritten,
  VolumeIdParams,
} from '../../../usecases/operations/schemas/volumes.ts';
import type { VolumeApi, VolumeFiles } from '../../../usecases/ports/volumes.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { refuseCompressed } from '../signed-body.ts';

interface VolumeRouteParts extends RestParts {
  readonly volumes: VolumeApi & { readonly files: VolumeFiles };
}

/** Error statuses of all routes below one volume: a link or `..` that leaves the volume is 403, a full volume 507. */
const FILE_STATUSES: readonly number[] = [404, 409, 507];

const MOST = 1_000;

const listFilesSchema = {
  operationId: 'volume_files.list',
  tags: ['volumes'],
  summary: 'List a directory of a volume',
  headers: CallerHeaders,
  params: VolumeIdParams,
  querystring: DirectoryQuery,
  response: { 200: FileList, ...problemSchemas({ style: 'coded', also: FILE_STATUSES }) },
};

/** Changes files: with the role to write, or as a consumer of a paid tier in its own tenant. */
const CHANGES = { access: 'write', forKeepers: true } as const;

/** GET /v1/volumes/{id}/files?path=. */
function listFilesRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.get('/v1/volumes/:id/files', { config: { access: 'read' }, schema: listFilesSchema }, async (request) => {
    const { path } = request.query;
    const { id } = request.params;
    await volumes.requireSeen(callerOf(request), id);
    const { entries, truncated } = await volumes.files.list(callerOf(request).tenant, id, path, MOST);
    return { path, entries: [...entries], truncated };
  });
}

const downloadFileSchema = {
  operationId: 'volume_files.read',
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
function downloadFileRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  const options = { config: { access: 'read' }, schema: downloadFileSchema, exposeHeadRoute: false } as const;
  app.get('/v1/volumes/:id/files/content', options, async (request, reply) => {
    const { id } = request.params;
    await volumes.requireSeen(callerOf(request), id);
    const file = await volumes.files.download(callerOf(request).tenant, id, request.query.path);
    const content = Readable.from(file.content, { objectMode: false });
    // Closes the file also when the client disconnects before the first byte is read.
    content.once('close', () => void file.close().catch((error: unknown) => request.log.warn(error)));
    reply.header('content-disposition', 'attachment');
    reply.header('content-length', file.sizeBytes);
    return reply.type('application/octet-stream').send(content);
  });
}

const uploadFileSchema = {
  operationId: 'volume_files.write',
  tags: ['volumes'],
  summary: 'Upload a file to a volume',
  description: 'The body is the content, of any type. The file changes in one step when all of it has arrived.',
  headers: CallerHeaders,
  params: VolumeIdParams,
  querystring: FilePathQuery,
  body: { content: { 'application/octet-stream': { schema: z.unknown() } } },
  response: { 200: FileWritten, ...problemSchemas({ style: 'coded', hasBody: true, also: FILE_STATUSES }) },
};

/**
 * PUT /v1/volumes/{id}/files/content?path=. In a plugin of its own, since only this route takes bodies of any type as
 * streams.
 */
function uploadFileRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.register((scope: RestApp, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, parsed) => parsed(null, payload));
    scope.put('/v1/volumes/:id/files/content', { config: CHANGES, schema: uploadFileSchema }, async (request) => {
      refuseCompressed(request);
      const { id } = request.params;
      // A refused upload keeps the connection open, so that the client can read the error.
      const { body } = request;
      const content = body instanceof Readable ? body.iterator({ destroyOnReturn: false }) : Buffer.alloc(0);
      await volumes.requireSeen(callerOf(request), id);
      return volumes.files.write(callerOf(request).tenant, id, request.query.path, content);
    });
    done();
  });
}

const makeDirectorySchema = {
  operationId: 'volume_files.mkdir',
  tags: ['volumes'],
  summary: 'Make a directory in a volume',
  description: 'With its parents. An existing directory is no error.',
  headers: CallerHeaders,
  params: VolumeIdParams,
  body: DirectoryBody,
  response: {
    200: z.object({ path: z.string() }),
    ...problemSchemas({ style: 'coded', hasBody: true, also: FILE_STATUSES }),
  },
};

/** POST /v1/volumes/{id}/files/mkdir. */
function makeDirectoryRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.post('/v1/volumes/:id/files/mkdir', { config: CHANGES, schema: makeDirectorySchema }, async (request) => {
    const { path } = request.body;
    await volumes.requireSeen(callerOf(request), request.params.id);
    await volumes.files.mkdir(callerOf(request).tenant, request.params.id, path);
    return { path };
  });
}

const deleteFileSchema = {
  operationId: 'volume_files.delete',
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
function deleteFileRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.delete('/v1/volumes/:id/files', { config: CHANGES, schema: deleteFileSchema }, async (request) => {
    const { path, recursive } = request.query;
    const all = recursive === '' || recursive === 'true';
    const { id } = request.params;
    await volumes.requireSeen(callerOf(request), id);
    await volumes.files.delete(callerOf(request).tenant, id, path, { recursive: all });
    return { path, deleted: true as const };
  });
}

const FILES = [listFilesRoute, downloadFileRoute, uploadFileRoute, makeDirectoryRoute, deleteFileRoute];

/** Adds the routes for files under /v1/volumes, on nodes with volumes. */
export function volumeFileRoutes(app: RestApp, parts: RestParts): void {
  const { volumes } = parts;
  if (volumes === undefined) return;
  for (const route of FILES) route(app, { ...parts, volumes });
}
