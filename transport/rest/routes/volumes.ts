import { z } from 'zod';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { CallerHeaders, nextPageField, pageAsked, pageFields } from '../../../usecases/operations/schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { VolumeAnswer, VolumeBody, VolumeIdParams } from '../../../usecases/operations/schemas/volumes.ts';
import {
  deleteFileRoute,
  downloadFileRoute,
  listFilesRoute,
  makeDirectoryRoute,
  uploadFileRoute,
  type VolumeRouteParts,
} from './volume-files.ts';

const createVolumeSchema = {
  tags: ['volumes'],
  summary: 'Create a volume',
  headers: CallerHeaders,
  body: VolumeBody,
  response: { 200: VolumeAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [409, 507] }) },
};

/** POST /v1/volumes. */
function createVolumeRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.post('/v1/volumes', { config: { access: 'write' }, schema: createVolumeSchema }, async (request) => {
    const { name, storage_class, size_limit_bytes, ttl_hours } = request.body;
    return volumes.create(callerOf(request), {
      ...{ name, storage_class },
      ...(size_limit_bytes === undefined ? {} : { size_limit_bytes }),
      ...(ttl_hours === undefined ? {} : { ttl_hours }),
    });
  });
}

const getVolumeSchema = {
  tags: ['volumes'],
  summary: 'Show a volume',
  headers: CallerHeaders,
  params: VolumeIdParams,
  response: { 200: VolumeAnswer, ...problemSchemas({ style: 'coded', also: [404] }) },
};

/** GET /v1/volumes/{id}. */
function getVolumeRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.get('/v1/volumes/:id', { config: { access: 'read' }, schema: getVolumeSchema }, async (request) =>
    volumes.get(callerOf(request), request.params.id.toLowerCase()),
  );
}

const USUAL = 100;

const MOST = 1_000;

const listVolumesSchema = {
  tags: ['volumes'],
  summary: 'List volumes',
  description: 'Newest first; those of workflow executions are named EXECUTION/workspace and EXECUTION/shared/NAME.',
  headers: CallerHeaders,
  querystring: z.object(pageFields(USUAL, MOST)),
  response: {
    200: z.object({ volumes: z.array(VolumeAnswer), ...nextPageField }),
    ...problemSchemas({ style: 'coded' }),
  },
};

/** GET /v1/volumes. */
function listVolumesRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.get('/v1/volumes', { config: { access: 'read' }, schema: listVolumesSchema }, async (request) => {
    const { items, ...next } = await volumes.list(callerOf(request), pageAsked(request.query, MOST));
    return { volumes: items, ...next };
  });
}

const deleteVolumeSchema = {
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
function deleteVolumeRoute(app: RestApp, { volumes }: VolumeRouteParts): void {
  app.delete('/v1/volumes/:id', { config: { access: 'write' }, schema: deleteVolumeSchema }, async (request) => {
    const id = request.params.id.toLowerCase();
    await volumes.delete(callerOf(request), id);
    return { volume_id: id, deleted: true as const };
  });
}

const VOLUMES = [createVolumeRoute, listVolumesRoute, getVolumeRoute, deleteVolumeRoute];

const FILES = [listFilesRoute, downloadFileRoute, uploadFileRoute, makeDirectoryRoute, deleteFileRoute];

/** /v1/volumes, on nodes that have volumes. */
export function volumeRoutes(app: RestApp, parts: RestParts): void {
  const { volumes } = parts;
  if (volumes === undefined) return;
  for (const route of [...VOLUMES, ...FILES]) route(app, { ...parts, volumes });
}
