import type { KnownVolume } from '../../manifests/metadata.ts';
import type { Page, PageAsked } from '../../runtime/documents/pages.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity, Viewer } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';

export interface Volume {
  readonly id: string;
  readonly name: string;
  readonly storage_class: 'ephemeral' | 'persistent';
  /** Null: no limit. */
  readonly size_limit_bytes: number | null;
  readonly used_bytes: number;
  /** Null: no expiry. */
  readonly expires_at: string | null;
  /** The workflow execution that created it; null: created through the API. */
  readonly workflow_execution_id: string | null;
  readonly created_at: string;
}

/** Management of a tenant's volumes, for REST and CLI (H30). Implemented by volumes.ts. */
export interface VolumeApi {
  create(
    identity: Identity,
    request: {
      readonly name: string;
      readonly storage_class: 'ephemeral' | 'persistent';
      readonly size_limit_bytes?: number;
      readonly ttl_hours?: number;
    },
  ): Promise<Volume>;
  list(viewer: Viewer, page?: PageAsked): Promise<Page<Volume>>;
  get(viewer: Viewer, volumeId: string): Promise<Volume>;
  /** Storage events, newest first. */
  events(viewer: Viewer, volumeId: string, filter: StorageEventFilter, page: PageAsked): Promise<Page<StorageEvent>>;
  /** Throws `not_found` for a volume that the viewer may not see. Call it before accessing files for a caller. */
  requireSeen(viewer: Viewer, volumeId: string): Promise<void>;
  /** Throws `conflict` while a running execution uses it. */
  delete(identity: Identity, volumeId: string): Promise<void>;
}

interface OpenVolume {
  readonly directory: string;
  /** Null: no limit, or one that the file system enforces. */
  readonly sizeLimitBytes: number | null;
  readonly known: KnownVolume;
}

/** Opens directories of volumes for other effects. Implemented by volumes.ts. */
export interface VolumeDirectories {
  /**
   * Host directory of a volume, for one run. `create` creates the implicit workspace of an execution if missing.
   * `known` skips the lookup of the record, since the execution with this state keeps the volume from being removed.
   * Throws `not_found`, also for volumes of other tenants.
   */
  open(
    tenant: string,
    volumeId: string,
    options?: { readonly create?: boolean; readonly known?: KnownVolume | undefined },
  ): Promise<OpenVolume>;
  /** Throws `quota_exceeded` (ENOSPC) if a volume exceeds its limit. */
  checkQuota(tenant: string, volumeId: string, known?: KnownVolume): Promise<void>;
}

/** The volumes that an agent's manifest names, in one execution. Implemented by execution-volumes.ts. */
export interface ExecutionVolumes {
  /**
   * Creates an ephemeral volume, which ends with the execution, or earlier after `ttlHours`. A repeat finds it. Returns its
   * id. Throws `invalid_argument` for a size above the node's limit, `quota_exceeded`.
   */
  make(
    identity: Identity,
    executionId: string,
    volume: { readonly name: string; readonly ttlHours: number; readonly sizeLimitBytes: number | undefined },
  ): Promise<string>;
  /**
   * Records the execution as a user of a persistent volume and returns the volume's id. `field` is for errors. Throws
   * `not_found`, also for a volume that the identity may not see, and `failed_precondition` for an ephemeral one.
   */
  use(identity: Identity, executionId: string, volumeId: string, field: string): Promise<string>;
}

/**
 * Keeps a volume while an effect uses it: until the returned function is called, this node removes it neither by TTL
 * nor by API.
 */
export interface VolumeHolds {
  hold(tenant: string, volumeId: string): () => void;
}

/** Watches the size of volumes that processes write to. */
export interface VolumeQuotas {
  /**
   * Calls `over` once when the volume exceeds both its limit and its size at the start of the watch, so that a command
   * can still clean up a full volume. The returned function ends the watch and resolves with whether the limit is
   * exceeded then.
   */
  watch(tenant: string, volumeId: string, over: () => void, known?: KnownVolume): Promise<() => Promise<boolean>>;
}

export interface FileEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  readonly size_bytes: number;
  /** ISO time. */
  readonly modified_at: string;
}

/** The bound that ended a search early; null when the search is complete. */
export type SearchEnd = 'found' | 'entries' | 'time' | null;

interface GlobResult {
  /** Files, directories and links below the directory, relative to it, sorted. */
  readonly paths: readonly string[];
  readonly ended_by: SearchEnd;
}

export interface GrepResult {
  /** In the order of paths, then lines. `path` is relative to the start of the search, '' for a single file. */
  readonly matches: readonly { readonly path: string; readonly line: number; readonly text: string }[];
  readonly files: number;
  /** Files that are binary, too large or unreadable. */
  readonly skipped: number;
  readonly ended_by: SearchEnd;
}

/** Bounds of a search; each has a default. */
export interface SearchLimits {
  readonly found?: number;
  readonly entries?: number;
  readonly timeMs?: number;
}

/**
 * Files of one volume, for REST and tools. Implemented by volume-files.ts. Paths start at the volume's root and cannot leave
 * it: no `..`, no absolute link, no link above the root (reading follows links that stay inside). Each operation is a storage
 * event. Throws `forbidden` for a path that leaves the volume, `not_found`, `conflict`, `failed_precondition`,
 * `quota_exceeded`, `payload_too_large`, `unavailable`.
 */
export interface VolumeFiles {
  /** Sorted by name; `truncated` if there are more than `limit`. */
  list(
    tenant: string,
    volumeId: string,
    path: string,
    limit?: number,
  ): Promise<{ readonly entries: readonly FileEntry[]; readonly truncated: boolean }>;
  /** Whole content; throws `payload_too_large` beyond `maxBytes` (default 16 MiB). */
  read(tenant: string, volumeId: string, path: string, maxBytes?: number): Promise<Buffer>;
  /** Streams the content. The end of the iteration closes the file, or `close` if the iteration stops early. */
  download(
    tenant: string,
    volumeId: string,
    path: string,
  ): Promise<{ readonly sizeBytes: number; readonly content: AsyncIterable<Buffer>; close(): Promise<void> }>;
  /**
   * Creates or replaces a file atomically, with missing parents. If the content fails, the old file stays. `expected`: only
   * replaces a file with exactly these bytes, keeps its mode and follows links inside the volume; throws `conflict` for other
   * bytes. `byTool`: refuses files that configure git (`forbidden`). Writers of this node are serialised for each volume.
   */
  write(
    tenant: string,
    volumeId: string,
    path: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    options?: { readonly expected?: Uint8Array; readonly byTool?: boolean },
  ): Promise<{ readonly path: string; readonly bytes_written: number; readonly created: boolean }>;
  /** Creates parents too. No error if it exists. */
  mkdir(tenant: string, volumeId: string, path: string): Promise<void>;
  /** Removes a link itself, not its target. */
  delete(tenant: string, volumeId: string, path: string, options?: { readonly recursive?: boolean }): Promise<void>;
  /**
   * Finds paths below a directory by a glob (picomatch; dot files included). Follows no links. One event. `under`: prefix of
   * all paths for the pattern and in the result. Throws `invalid_argument` (field `pattern`), `deadline_exceeded`, the signal's reason.
   */
  glob(
    tenant: string,
    volumeId: string,
    path: string,
    pattern: string,
    options?: SearchLimits & { readonly under?: string; readonly signal?: AbortSignal },
  ): Promise<GlobResult>;
  /**
   * Finds lines by a regular expression (RE2: linear time) in the text files below a directory, or in one file. Follows no
   * links. One event. Throws as `glob`.
   */
  grep(
    tenant: string,
    volumeId: string,
    path: string,
    pattern: string,
    options?: SearchLimits & { readonly signal?: AbortSignal },
  ): Promise<GrepResult>;
}

/** Names of storage events (W4). */
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

/** Conditions on storage events. All must hold. */
export interface StorageEventFilter {
  readonly event?: StorageEventName | undefined;
  readonly path?: string | undefined;
}

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

/** A storage event with its reader: null for the whole tenant, absent when it is unknown and operators alone see it. */
export interface OwnedStorageEvent extends StorageEvent {
  readonly owner?: string | null;
}

/** Storage events of one tenant, on all nodes, from the time when the tail was opened. */
export interface StorageTail {
  /** Events since the last call, oldest first, at most about `most`; `skipped` counts those that were not read. */
  read(most: number): Promise<{ readonly events: readonly OwnedStorageEvent[]; readonly skipped: number }>;
}

/** The error for a path that leaves its volume. Tools report it as PathOutsideBoundary. */
export class PathTraversal extends SvcError {
  constructor(message = 'path: must stay inside the volume') {
    super('forbidden', message, { field: 'path' });
  }
}
