import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { StorageEvent } from '../../usecases/ports/volumes.ts';
import { usedBytes } from './quota-watch.ts';
import type { EventRecord } from './storage-events.ts';
import { expiry, MOST_VOLUMES, type VolumeDocument, type VolumeLimits } from './stored-volume.ts';
import type { VolumeDisk } from './volume-disk.ts';
import type { VolumeRecords } from './volume-records.ts';

interface VolumeParts {
  readonly records: VolumeRecords;
  readonly disk: VolumeDisk;
  readonly events: EventRecord;
  readonly clock: Clock;
  readonly limits: VolumeLimits;
  /** Whether a workflow execution has ended; true for unknown ones. */
  readonly ended: (tenant: string, workflowExecutionId: string) => Promise<boolean>;
  /** The owner of a private execution; undefined for others and unknown ones. Absent: no private executions. */
  readonly ownerOf?: (tenant: string, executionId: string) => Promise<string | undefined>;
}

/** The part of a record that is needed to use a volume. */
export type UsedVolume = Pick<VolumeDocument, 'tenant' | 'id' | 'size_limit_bytes' | 'workflow_execution_id'>;

/** Creates, opens and removes volumes: creates the document before the directory, and removes the directory first. */
export class VolumeStore {
  readonly parts: VolumeParts;
  /** Number of effects of this node that work in a volume. */
  readonly #held = new Map<string, number>();

  constructor(parts: VolumeParts) {
    this.parts = parts;
  }

  /** Creates a volume. Returns `made: false` if its id or name exists. */
  async make(
    volume: Pick<VolumeDocument, 'tenant' | 'id' | 'name' | 'storage_class' | 'size_limit_bytes' | 'made_by'> & {
      readonly workflow_execution_id: string | null;
      readonly ttl_hours?: number | undefined;
      /** In place of `ttl_hours`, from its creation; null: no expiry by time, it ends with its execution. */
      readonly ttl_ms?: number | null;
      /** Default: the owner of its execution. */
      readonly owner?: string | undefined;
    },
  ): Promise<{ readonly made: boolean }> {
    const { records, disk, clock, limits } = this.parts;
    const { ttl_hours, ttl_ms, owner: known, ...fields } = volume;
    const now = clock.now();
    const expiresAtMs =
      typeof ttl_ms === 'number'
        ? Math.ceil(now + ttl_ms)
        : ttl_ms === null
          ? null
          : expiry({ storage_class: volume.storage_class, ttl_hours }, now, limits);
    if ((await records.count(volume.tenant)) >= MOST_VOLUMES) {
      const text = `the tenant already has the maximum of ${MOST_VOLUMES} volumes: delete some`;
      throw new SvcError('quota_exceeded', text);
    }
    const created_at = new Date(now).toISOString();
    const owner = known ?? (await this.#ownerOf(volume));
    const made = await records.insert({
      ...fields,
      version: 1,
      expires_at_ms: expiresAtMs,
      used_by: [],
      created_at,
      ...(owner === undefined ? {} : { owner }),
      status: 'ready',
    });
    if (!made) return { made };
    try {
      await disk.make(volume.tenant, volume.id, volume.size_limit_bytes);
    } catch (thrown) {
      // The disk has failed: frees the name for another try.
      await records.forget(volume.tenant, volume.id);
      throw thrown;
    }
    this.publish({ ...volume, owner }, 'VolumeCreated', {
      storage_class: volume.storage_class,
      size_limit_bytes: volume.size_limit_bytes,
    });
    return { made };
  }

  async #ownerOf(volume: Pick<VolumeDocument, 'tenant' | 'workflow_execution_id'>): Promise<string | undefined> {
    const { tenant, workflow_execution_id: execution } = volume;
    return execution === null ? undefined : this.parts.ownerOf?.(tenant, execution);
  }

  /** The directory of a volume, created if a crash has prevented that. */
  async directory(volume: UsedVolume): Promise<string> {
    return this.parts.disk.make(volume.tenant, volume.id, volume.size_limit_bytes);
  }

  async usedBytes(volume: UsedVolume): Promise<number> {
    const { disk } = this.parts;
    // An image must be mounted before its files are visible.
    if (disk.enforces) await this.directory(volume);
    return usedBytes(disk.pathOf(volume.tenant, volume.id));
  }

  /** Removes a volume. A repeat completes a removal that a crash has interrupted. */
  async remove(volume: VolumeDocument, event: 'VolumeDeleted' | 'VolumeExpired'): Promise<void> {
    const { records, disk } = this.parts;
    if (volume.status === 'ready') await records.change(volume.tenant, volume.id, () => ({ status: 'removing' }));
    await disk.remove(volume.tenant, volume.id);
    if (await records.forget(volume.tenant, volume.id)) this.publish(volume, event, {});
  }

  hold(tenant: string, volumeId: string): () => void {
    const key = `${tenant}/${volumeId}`;
    this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const left = (this.#held.get(key) ?? 1) - 1;
      if (left > 0) this.#held.set(key, left);
      else this.#held.delete(key);
    };
  }

  isHeld(tenant: string, volumeId: string): boolean {
    return this.#held.has(`${tenant}/${volumeId}`);
  }

  /** Whether an effect of this node or any running execution uses it. */
  async isUsed(volume: VolumeDocument): Promise<boolean> {
    if (this.isHeld(volume.tenant, volume.id)) return true;
    const owners = [
      ...(volume.workflow_execution_id === null ? [] : [volume.workflow_execution_id]),
      ...volume.used_by,
    ];
    for (const owner of owners) if (!(await this.parts.ended(volume.tenant, owner))) return true;
    return false;
  }

  /** Publishes that a volume is full. The owner of a volume that is known without it is that of its execution. */
  async publishFull(volume: UsedVolume, usedBytes: number): Promise<void> {
    const details = { size_limit_bytes: volume.size_limit_bytes, actual_bytes: usedBytes };
    this.publish({ ...volume, owner: await this.#ownerOf(volume) }, 'QuotaExceeded', details);
  }

  publish(
    volume: Pick<VolumeDocument, 'tenant' | 'id' | 'workflow_execution_id' | 'owner'>,
    event: StorageEvent['event'],
    details: StorageEvent['details'],
    path: string | null = null,
  ): void {
    const { tenant, id, workflow_execution_id, owner = null } = volume;
    this.parts.events.publish({ event, tenant, volume_id: id, path, workflow_execution_id, details, owner });
  }
}
