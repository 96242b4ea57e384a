import { SvcError } from '../../runtime/errors.ts';

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
