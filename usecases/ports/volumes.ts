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
  /** Null: kept until deleted. */
  readonly expires_at: string | null;
  /** Workflow execution it was made for; null for one made through the API. */
  readonly workflow_execution_id: string | null;
  readonly created_at: string;
}

/** Volumes of a tenant over REST and CLI (H30). */
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
  /** Throws `not_found` for one that the viewer does not see: before its files are touched on a caller's behalf. */
  requireSeen(viewer: Viewer, volumeId: string): Promise<void>;
  /** Throws `conflict` while a running execution has it mounted. */
  delete(identity: Identity, volumeId: string): Promise<void>;
}

interface OpenVolume {
  readonly directory: string;
  readonly sizeLimitBytes: number | null;
  readonly known: KnownVolume;
}

/** Where other effects find a volume's files. */
export interface VolumeDirectories {
  /**
   * Host directory of a volume, for one run. `create` makes an execution's implicit workspace when it is not there.
   * `known`: no record is looked up, since the execution that has it in its state keeps the volume from being removed.
   * Throws `not_found`, also for another tenant's volume.
   */
  open(
    tenant: string,
    volumeId: string,
    options?: { readonly create?: boolean; readonly known?: KnownVolume | undefined },
  ): Promise<OpenVolume>;
  /** Throws `quota_exceeded` (ENOSPC) when a volume holds more than its limit. */
  checkQuota(tenant: string, volumeId: string, known?: KnownVolume): Promise<void>;
}

/** Says that an effect works in a volume: until the answer is called, this node removes it neither by TTL nor by API. */
export interface VolumeHolds {
  hold(tenant: string, volumeId: string): () => void;
}

/** Watches volumes that foreign processes write to. */
export interface VolumeQuotas {
  /**
   * Calls `over` once when the volume holds more than its limit and more than when the watch began (so that a command
   * can still tidy up a full one). The answer ends the watch; it resolves with whether the limit is broken then.
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

interface FileStat extends FileEntry {
  /** From the volume's root, which is `/`. */
  readonly path: string;
}

/** Why a search ended before it had seen everything; null when it has. */
export type SearchEnd = 'found' | 'entries' | 'time' | null;

interface GlobResult {
  /** Files, directories and links below the directory, relative to it, sorted. */
  readonly paths: readonly string[];
  readonly ended_by: SearchEnd;
}

export interface GrepResult {
  /** In the order of paths, then lines. `path` is relative to where the search began, '' for one file. */
  readonly matches: readonly { readonly path: string; readonly line: number; readonly text: string }[];
  readonly files: number;
  /** Files that are not text, too large, or not to be read. */
  readonly skipped: number;
  readonly ended_by: SearchEnd;
}

/** What a search may cost; each has a default of its own. */
export interface SearchLimits {
  readonly found?: number;
  readonly entries?: number;
  readonly timeMs?: number;
}

/**
 * Files inside one volume, for REST and for tools. Paths start at the volume's root; nothing leads out of it: no `..`,
 * no absolute link, no link that climbs above the root (links that stay inside are followed when reading). Every
 * operation is a storage event. Throws `forbidden` for a path that leaves, `not_found`, `conflict`,
 * `failed_precondition`, `quota_exceeded`, `payload_too_large`, `unavailable`.
 */
export interface VolumeFiles {
  stat(tenant: string, volumeId: string, path: string): Promise<FileStat>;
  /** Sorted by name; `truncated` when there are more than `limit`. */
  list(
    tenant: string,
    volumeId: string,
    path: string,
    limit?: number,
  ): Promise<{ readonly entries: readonly FileEntry[]; readonly truncated: boolean }>;
  /** Whole content; throws `payload_too_large` beyond `maxBytes` (default 16 MiB). */
  read(tenant: string, volumeId: string, path: string, maxBytes?: number): Promise<Buffer>;
  /** Content as it is read. The file is closed at the end of the iteration, or by `close` when nobody reads so far. */
  download(
    tenant: string,
    volumeId: string,
    path: string,
  ): Promise<{ readonly sizeBytes: number; readonly content: AsyncIterable<Buffer>; close(): Promise<void> }>;
  /**
   * Creates or replaces a file, missing parents too. The file changes in one step when all content has arrived; a
   * content that fails leaves the old one. With `expected` it only replaces a file that holds just these bytes, keeping
   * its mode and following links inside the volume; throws `conflict` when it holds others. `byTool`: what configures git is
   * refused (`forbidden`). Writers of this node come one
   * after another.
   */
  write(
    tenant: string,
    volumeId: string,
    path: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    options?: { readonly expected?: Uint8Array; readonly byTool?: boolean },
  ): Promise<{ readonly path: string; readonly bytes_written: number; readonly created: boolean }>;
  /** Makes parents too; one that is there is fine. */
  mkdir(tenant: string, volumeId: string, path: string): Promise<void>;
  /** A link is removed, not what it leads to. */
  delete(tenant: string, volumeId: string, path: string, options?: { readonly recursive?: boolean }): Promise<void>;
  /**
   * What fits a glob below a directory (picomatch; names with a leading dot too). No link is followed. One event. `under`:
   * the pattern sees all paths below this one, itself too, and so are they answered.
   * Throws `invalid_argument` (field `pattern`), `deadline_exceeded`, the signal's reason.
   */
  glob(
    tenant: string,
    volumeId: string,
    path: string,
    pattern: string,
    options?: SearchLimits & { readonly under?: string; readonly signal?: AbortSignal },
  ): Promise<GlobResult>;
  /**
   * Lines that match a regular expression (RE2: linear time) in the text files below a directory, or in one file. No link
   * is followed. One event. Throws as `glob`.
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
const STORAGE_EVENTS = [
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

/** A path that leaves its volume: what tools call PathOutsideBoundary. */
export class PathTraversal extends SvcError {
  constructor(message = 'path: must stay inside the volume') {
    super('forbidden', message, { field: 'path' });
  }
}
