import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import { invalidField, SvcError } from '../../runtime/errors.ts';
import { derivedUuid } from '../../runtime/random.ts';
import type { Volume } from '../../usecases/ports/volumes.ts';

/** The collection of volumes; names are unique in a tenant. */
export const VOLUME_DOCUMENTS: CollectionSpec = {
  name: 'volumes',
  unique: [['name']],
  indexes: [['created_at'], ['expires_at_ms'], ['status'], ['made_by']],
  searched: ['owner'],
};

/** The record of a volume. It is written before the directory is created; a missing directory is created again. */
export interface VolumeDocument extends StoredDocument {
  readonly name: string;
  readonly storage_class: 'ephemeral' | 'persistent';
  readonly size_limit_bytes: number | null;
  /** Unix ms. */
  readonly expires_at_ms: number | null;
  /**
   * `implicit`: workspace of an execution without storage; its id is that of the execution. `agent`: an ephemeral volume of
   * an agent's manifest, which ends with its execution, too.
   */
  readonly made_by: 'api' | 'workflow' | 'implicit' | 'agent';
  readonly workflow_execution_id: string | null;
  /** The only subject, besides operators, that may see it, for a private execution. Absent: the whole tenant. */
  readonly owner?: string;
  /** Workflow executions that mounted an existing volume; ended ones are removed from time to time. */
  readonly used_by: readonly string[];
  /** ISO time. */
  readonly created_at: string;
  /** A volume with `removing` is hidden; the sweep completes a removal that a crash interrupted. */
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

/** The UUID of a workflow execution's volume, derived from its name. */
export const derivedVolumeId = (tenant: string, workflowExecutionId: string, name: string): string =>
  derivedUuid('svc-volume', tenant, workflowExecutionId, name);

/** The part of `spec.storage` for volumes. */
export interface VolumeLimits {
  readonly defaultTtlHours: number;
  readonly defaultSizeLimitMb: number;
  /** Upper bound for all volumes. */
  readonly maxSizeLimitMb: number;
}

const MiB = 1024 * 1024;

export const HOUR_MS = 3_600_000;

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

/** Expiry of an ephemeral volume, Unix ms; null for a persistent one. Throws `invalid_argument`. */
export function expiry(
  volume: { readonly storage_class: 'ephemeral' | 'persistent'; readonly ttl_hours?: number | undefined },
  now: number,
  limits: VolumeLimits,
): number | null {
  const { storage_class, ttl_hours } = volume;
  if (storage_class === 'persistent') {
    if (ttl_hours === undefined) return null;
    throw invalidField('ttl_hours', 'only for storage_class ephemeral');
  }
  const hours = ttl_hours ?? limits.defaultTtlHours;
  if (Number.isInteger(hours) && hours >= 1 && hours <= MAX_TTL_HOURS) return now + hours * HOUR_MS;
  throw invalidField('ttl_hours', `expected 1 to ${MAX_TTL_HOURS}`);
}

/** Maximum number of volumes of a tenant, workspaces included. */
export const MOST_VOLUMES = 10_000;
