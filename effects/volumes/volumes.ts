import { mkdir } from 'node:fs/promises';
import type { KnownVolume } from '../../manifests/metadata.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import { beforeActing, SvcError } from '../../runtime/errors.ts';
import type { Random } from '../../runtime/random.ts';
import type {
  ExecutionVolumes,
  OwnedStorageEvent,
  StorageTail,
  VolumeApi,
  VolumeDirectories,
  VolumeFiles,
  VolumeHolds,
  VolumeQuotas,
} from '../../usecases/ports/volumes.ts';
import { executionVolumes } from './execution-volumes.ts';
import { QuotaWatch, quotaExceeded } from './quota-watch.ts';
import { SearchThreads } from './search/threads.ts';
import { EventRecord, EventTail, STORAGE_EVENT_DOCUMENTS, type StorageEventDocument } from './storage-events.ts';
import { shown, sizeLimitBytes, VOLUME_DOCUMENTS, type VolumeDocument, type VolumeLimits } from './stored-volume.ts';
import { VolumeDisk } from './volume-disk.ts';
import { createVolumeFiles } from './volume-files.ts';
import { openVolumeImages } from './volume-images.ts';
import { noVolume, VolumeRecords, volumeIdOf } from './volume-records.ts';
import { type UsedVolume, VolumeStore } from './volume-store.ts';

export interface VolumesOptions {
  /** Directory of all volumes: `<root>/<tenant>/<volume id>`. */
  readonly root: string;
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: VolumeLimits;
  readonly ended: (tenant: string, workflowExecutionId: string) => Promise<boolean>;
  readonly ownerOf?: (tenant: string, executionId: string) => Promise<string | undefined>;
  readonly warn: (message: string, error: unknown) => void;
  /** `image`: volumes are file systems of their size; requires the right to mount. */
  readonly quota?: 'sampled' | 'image';
  readonly onEvent?: (event: OwnedStorageEvent) => void;
  /** Storage events kept of each volume. Default 1,000. */
  readonly eventsKept?: number;
}

/** The volumes of this node: all ports. */
export interface Volumes extends VolumeApi, VolumeDirectories, VolumeHolds, VolumeQuotas {
  readonly files: VolumeFiles;
  readonly ofExecutions: ExecutionVolumes;
  readonly store: VolumeStore;
  /** Follows the storage events of a tenant. */
  tail(tenant: string): Promise<StorageTail>;
  /** Ends searches and writes pending events. */
  close(): Promise<void>;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
/** Volumes measured in parallel for a list. */
const PARALLEL = 8;

/** Throws `invalid_config` if the node cannot enforce quotas as configured, `unavailable` if the root cannot be used. */
export async function createVolumes(options: VolumesOptions): Promise<Volumes> {
  const { root, documents, clock, random, limits, warn, ended, ownerOf } = options;
  await mkdir(root, { recursive: true, mode: 0o700 });
  const records = new VolumeRecords(await documents.collection<VolumeDocument>(VOLUME_DOCUMENTS));
  const eventDocuments = await documents.collection<StorageEventDocument>(STORAGE_EVENT_DOCUMENTS);
  const events = new EventRecord({
    clock,
    random,
    warn,
    documents: eventDocuments,
    sink: options.onEvent,
    kept: options.eventsKept,
  });
  const disk = new VolumeDisk(root, options.quota === 'image' ? await imagesOf(root) : null);
  const store = new VolumeStore({ records, disk, events, clock, limits, ended, ownerOf });
  const watch = new QuotaWatch(clock, warn);
  const threads = new SearchThreads();
  const stored = async (tenant: string, volumeId: string, create: boolean): Promise<VolumeDocument> => {
    const found = (await records.find(tenant, volumeId)) ?? (create ? await implicit(store, tenant, volumeId) : null);
    if (found === null) throw noVolume();
    return found;
  };
  const given = async (tenant: string, id: string, known: KnownVolume | undefined): Promise<UsedVolume> =>
    known === undefined ? records.get(tenant, id) : { tenant, id: volumeIdOf(id), ...known };

  return {
    store,
    files: createVolumeFiles(store, random, threads),
    ofExecutions: executionVolumes(store),
    hold: (tenant, volumeId) => store.hold(tenant, volumeId),
    async tail(tenant) {
      // Events before this call must not be new to the reader.
      await events.flush();
      return EventTail.open({ documents: eventDocuments, clock, tenant });
    },
    close: async () => {
      await threads.close();
      await events.flush();
    },

    async create(identity, request) {
      const { name, storage_class, ttl_hours } = request;
      const { tenant } = identity;
      if (!NAME.test(name)) {
        const text = 'name: expected 1 to 63 letters, digits, dots, dashes and underscores';
        throw new SvcError('invalid_argument', text, { field: 'name' });
      }
      const id = random.uuid();
      const size_limit_bytes = sizeLimitBytes(request.size_limit_bytes, limits);
      const { made } = await store.make({
        tenant,
        id,
        name,
        storage_class,
        size_limit_bytes,
        ttl_hours,
        made_by: 'api',
        workflow_execution_id: null,
      });
      if (!made) throw new SvcError('conflict', `a volume with the name ${name} already exists`, { field: 'name' });
      return shown(await records.get(tenant, id), 0);
    },

    async list(viewer, page = { limit: 100 }) {
      const { items: found, ...next } = await records.list(viewer, page);
      const rows = [];
      for (let at = 0; at < found.length; at += PARALLEL) {
        const some = found.slice(at, at + PARALLEL);
        rows.push(...(await Promise.all(some.map(async (one) => shown(one, await store.usedBytes(one))))));
      }
      return { items: rows, ...next };
    },

    async get(viewer, volumeId) {
      const volume = await records.seen(viewer, volumeId);
      return shown(volume, await store.usedBytes(volume));
    },

    async events(viewer, volumeId, filter, page) {
      const { tenant, id } = await records.seen(viewer, volumeId);
      return events.list(tenant, id, filter, page);
    },

    async requireSeen(viewer, volumeId) {
      await records.seen(viewer, volumeId);
    },

    async delete(identity, volumeId) {
      const volume = await records.seen(identity, volumeId);
      if (await store.isUsed(volume)) throw new SvcError('conflict', 'a running execution uses the volume');
      await store.remove(volume, 'VolumeDeleted');
    },

    async open(tenant, volumeId, { create = false, known } = {}) {
      const found = await beforeActing(
        known === undefined ? stored(tenant, volumeId, create) : given(tenant, volumeId, known),
      );
      const { size_limit_bytes, workflow_execution_id } = found;
      return {
        directory: await store.directory(found),
        // Its file system enforces the limit: a writer gets ENOSPC, and no measurement is needed.
        sizeLimitBytes: disk.enforces ? null : size_limit_bytes,
        known: { size_limit_bytes, workflow_execution_id },
      };
    },

    async checkQuota(tenant, volumeId, known) {
      if (disk.enforces) return;
      const volume = await given(tenant, volumeId, known);
      const usedBytes = await store.usedBytes(volume);
      if (volume.size_limit_bytes === null || usedBytes <= volume.size_limit_bytes) return;
      await store.publishFull(volume, usedBytes);
      throw quotaExceeded(volume.size_limit_bytes);
    },

    async watch(tenant, volumeId, over, known) {
      const volume = await beforeActing(given(tenant, volumeId, known));
      if (volume.size_limit_bytes === null || disk.enforces) return async () => false;
      const limit = Math.max(volume.size_limit_bytes, await store.usedBytes(volume));
      const stop = watch.add({ limit, measure: () => store.usedBytes(volume), over });
      return async () => {
        stop();
        const actual = await store.usedBytes(volume);
        if (actual <= limit) return false;
        await store.publishFull(volume, actual);
        return true;
      };
    },
  };
}

async function imagesOf(root: string) {
  const opened = await openVolumeImages(root);
  if (opened.images !== null) return opened.images;
  const text = `spec.storage.local_host.quota is image, but this node may not mount file systems: ${opened.reason}`;
  throw new SvcError('invalid_config', text);
}

/** Creates the implicit workspace of an execution: it has the execution's id and ends with the execution. */
async function implicit(store: VolumeStore, tenant: string, executionId: string): Promise<VolumeDocument | null> {
  const { records, limits } = store.parts;
  await store.make({
    tenant,
    id: executionId,
    name: `${executionId}/workspace`,
    storage_class: 'ephemeral',
    ttl_ms: null,
    made_by: 'implicit',
    workflow_execution_id: executionId,
    size_limit_bytes: sizeLimitBytes(undefined, limits),
  });
  // It exists now, created here or by another node.
  return records.find(tenant, executionId);
}
