import { z } from 'zod';
import { STORAGE_EVENTS } from '../../ports/volumes.ts';
import { uuid } from './fields.ts';

export const VolumeIdParams = z.object({ id: uuid('invalid volume id') });

/** Longest TTL: ten years, in hours. */
const MAX_TTL_HOURS = 87_600;

export const VolumeBody = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, '1 to 63 letters, digits, dots, dashes and underscores')
    .describe('Unique in the tenant.'),
  storage_class: z.enum(['ephemeral', 'persistent']).default('persistent'),
  size_limit_bytes: z.number().int().min(1).optional().describe('Default and largest: `spec.storage` of the node.'),
  ttl_hours: z.number().int().min(1).max(MAX_TTL_HOURS).optional().describe('For ephemeral volumes only.'),
});

export const VolumeAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    storage_class: z.enum(['ephemeral', 'persistent']),
    size_limit_bytes: z.number().int().nullable(),
    used_bytes: z.number().int(),
    expires_at: z.string().nullable(),
    workflow_execution_id: z.string().nullable(),
    created_at: z.string(),
  })
  .meta({ id: 'Volume' });

export const StorageEventAnswer = z
  .object({
    event: z.enum(STORAGE_EVENTS),
    volume_id: z.string(),
    path: z.string().nullable().describe('Null for events of the volume itself.'),
    workflow_execution_id: z.string().nullable(),
    at: z.string(),
    details: z.record(z.string(), z.unknown()).describe('Sizes and counts; never the content of a file.'),
  })
  .meta({ id: 'StorageEvent' });

const path = z.string().max(4_096).describe('Path from the root of the volume; `..` is refused.');
export const FilePathQuery = z.object({ path: path.min(1) });
export const DirectoryBody = z.strictObject({ path: path.min(1) });
export const DirectoryQuery = z.object({ path: path.default('/') });
export const DeleteQuery = FilePathQuery.extend({
  recursive: z.enum(['', 'true', 'false']).optional().describe('Deletes directories with their contents.'),
});

const FileEntry = z.object({
  name: z.string(),
  kind: z.enum(['file', 'directory', 'link', 'other']),
  size_bytes: z.number().int(),
  modified_at: z.string(),
});
export const FileList = z.object({
  path: z.string(),
  entries: z.array(FileEntry),
  truncated: z.boolean().describe('True when there are more than 1,000.'),
});
export const FileWritten = z.object({ path: z.string(), bytes_written: z.number().int(), created: z.boolean() });
