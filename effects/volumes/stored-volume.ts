import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { derivedUuid } from '../../runtime/random.ts';
import type { Volume } from '../../usecases/ports/volumes.ts';

/** What is known of volumes; names are unique in a tenant. */
export const VOLUME_DOCUMENTS: CollectionSpec = {
  name: 'volumes',
  unique: [['name']],
  indexes: [['created_at'], ['expires_at_ms'], ['status'], ['made_by']],
};

/** The document is the truth and is written first; the directory follows and is made again when it is missing. */
export interface VolumeDocument extends StoredDocument {
  readonly name: string;
  readonly storage_class: 'ephemeral' | 'persistent';
  readonly size_limit_bytes: number | null;
  /** Unix ms. */
  readonly expires_at_ms: number | null;
  /** `implicit`: workspace of an execution without storage of its own, the id is that of the execution. */
  readonly made_by: 'api' | 'workflow' | 'implicit';
  readonly workflow_execution_id: string | null;
  /** Subject that alone sees it, beside operators: of an execution that is one's own; absent: it is the tenant's. */
  readonly owner?: string;
  /** Workflow executions that mounted a volume made before; the ended ones are taken out now and then. */
  readonly used_by: readonly string[];
  /** ISO time. */
  readonly created_at: string;
  /** A volume on its way out is not there for anybody; the sweep ends what a crash left half removed. */
  readonly status: 'ready' | 'removing';
}

export const shown = (volume: VolumeDocument, usedBytes: number): Volume => ({
  id: volume.id,
  name: volume.name,
  storage_class: volume.storage_class,
  size_limit_bytes: volume.size_limit_bytes,
  used_bytes: usedBytes,
  expires_at: volume.expires_at_ms === null ? null : new Date(volume.expires_at_ms).toISOString(),
  workflow_execution_id: volume.workflow_execution_id,
  created_at: volume.created_at,
});

/** UUID of a volume of a workflow execution: the same each time it is asked for. */
export const derivedVolumeId = (tenant: string, workflowExecutionId: string, name: string): string =>
  derivedUuid('svc-volume', tenant, workflowExecutionId, name);

/** `spec.storage` of the node, as volumes need it. */
export interface VolumeLimits {
  readonly defaultTtlHours: number;
  readonly defaultSizeLimitMb: number;
  /** Nobody may ask for more. */
  readonly maxSizeLimitMb: number;
  /** How long the workspace of an execution without storage stays after its end, milliseconds. Default: an hour. */
  readonly implicitKeepMs?: number;
  /** Volumes of one tenant, workspaces included. Default 10,000. */
  readonly volumesPerTenant?: number;
}

const MiB = 1024 * 1024;

const HOUR_MS = 3_600_000;

const MAX_TTL_HOURS = 87_600;

/** Throws `invalid_argument` naming the field. */
export function sizeLimitBytes(asked: number | undefined, limits: VolumeLimits): number {
  if (asked === undefined) return limits.defaultSizeLimitMb * MiB;
  const most = limits.maxSizeLimitMb * MiB;
  if (Number.isSafeInteger(asked) && asked >= 1 && asked <= most) return asked;
  const expected = `1 to ${most} bytes (${limits.maxSizeLimitMb} MiB, spec.storage.max_size_limit_mb)`;
  throw new SvcError('invalid_argument', `size limit: expected ${expected}`, { field: 'size_limit_bytes' });
}

export const mebibytes = (mb: number | undefined): number | undefined => (mb === undefined ? undefined : mb * MiB);

/** When an ephemeral volume ends, Unix ms; null for a persistent one. Throws `invalid_argument`. */
export function expiry(
  volume: { readonly storage_class: 'ephemeral' | 'persistent'; readonly ttl_hours?: number | undefined },
  now: number,
  limits: VolumeLimits,
): number | null {
  const { storage_class, ttl_hours } = volume;
  if (storage_class === 'persistent') {
    if (ttl_hours === undefined) return null;
    throw new SvcError('invalid_argument', 'ttl_hours: only for storage_class ephemeral', { field: 'ttl_hours' });
  }
  const hours = ttl_hours ?? limits.defaultTtlHours;
  if (Number.isInteger(hours) && hours >= 1 && hours <= MAX_TTL_HOURS) return now + hours * HOUR_MS;
  throw new SvcError('invalid_argument', `ttl_hours: expected 1 to ${MAX_TTL_HOURS}`, { field: 'ttl_hours' });
}

export const implicitKeepMs = (limits: VolumeLimits): number => limits.implicitKeepMs ?? HOUR_MS;

export const volumesPerTenant = (limits: VolumeLimits): number => limits.volumesPerTenant ?? 10_000;
