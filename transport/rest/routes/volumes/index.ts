import type { RestApp, RestParts } from '../../parts.ts';
import { createVolumeRoute } from './create-volume.ts';
import { deleteFileRoute } from './delete-file.ts';
import { deleteVolumeRoute } from './delete-volume.ts';
import { downloadFileRoute } from './download-file.ts';
import { getVolumeRoute } from './get-volume.ts';
import { listFilesRoute } from './list-files.ts';
import { listVolumesRoute } from './list-volumes.ts';
import { makeDirectoryRoute } from './make-directory.ts';
import { uploadFileRoute } from './upload-file.ts';

const VOLUMES = [createVolumeRoute, listVolumesRoute, getVolumeRoute, deleteVolumeRoute];
const FILES = [listFilesRoute, downloadFileRoute, uploadFileRoute, makeDirectoryRoute, deleteFileRoute];

/** /v1/volumes, on nodes that have volumes. */
export function volumeRoutes(app: RestApp, parts: RestParts): void {
  const { volumes } = parts;
  if (volumes === undefined) return;
  for (const route of [...VOLUMES, ...FILES]) route(app, { ...parts, volumes });
}
