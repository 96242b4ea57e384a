import type { JsonObject } from '../../runtime/json.ts';

/** Names of storage events (spec 3, Events; original-facts 9.1). */
export const STORAGE_EVENTS = [
  'VolumeCreated',
  'VolumeDeleted',
  'VolumeExpired',
  'FileRead',
  'FileWritten',
  'FileCreated',
  'FileDeleted',
  'DirectoryListed',
  'PathTraversalBlocked',
  'QuotaExceeded',
] as const;
export type StorageEventName = (typeof STORAGE_EVENTS)[number];

/** One event for each operation on a volume. `details` has the fields of its kind and never the content of a file. */
export interface StorageEvent {
  readonly event: StorageEventName;
  readonly tenant: string;
  readonly volume_id: string;
  /** Null for events of the volume itself. */
  readonly path: string | null;
  readonly workflow_execution_id: string | null;
  /** ISO time. */
  readonly at: string;
  /** FileRead {offset, bytes_read}, FileWritten {bytes_written}, DirectoryListed {entry_count}, … */
  readonly details: JsonObject;
}
