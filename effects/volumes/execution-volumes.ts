import { SvcError } from '../../runtime/errors.ts';
import { ownerPart, sees, tenantOfViewer, type Viewer } from '../../runtime/identity.ts';
import type { ExecutionVolumes } from '../../usecases/ports/volumes.ts';
import { derivedVolumeId, HOUR_MS, sizeLimitBytes, type VolumeDocument } from './stored-volume.ts';
import type { VolumeStore } from './volume-store.ts';

/**
 * The volumes that agents' manifests name. They are created and looked up when an execution starts, so that a start without its
 * volumes is refused. Ids are derived from execution and name, so a repeated start finds its volumes.
 */
export const executionVolumes = (store: VolumeStore): ExecutionVolumes => ({
  async make(identity, executionId, { name, ttlHours, sizeLimitBytes: asked }) {
    const { tenant } = identity;
    const { limits, records } = store.parts;
    const inExecution = `volumes/${name}`;
    const id = derivedVolumeId(tenant, executionId, inExecution);
    const { made } = await store.make({
      tenant,
      id,
      name: `${executionId}/${inExecution}`,
      storage_class: 'ephemeral',
      size_limit_bytes: sizeLimitBytes(asked, limits),
      ttl_ms: ttlHours * HOUR_MS,
      made_by: 'agent',
      workflow_execution_id: executionId,
      // The execution does not exist yet, so the store cannot look up its owner.
      ...ownerPart(identity),
    });
    if (!made) await records.get(tenant, id);
    return id;
  },

  async use(identity, executionId, volumeId, field) {
    const { id } = await givenVolume(store, identity, executionId, { volume_id: volumeId, field });
    return id;
  },
});

/** Uses an existing persistent volume and records the execution as its user. */
export async function givenVolume(
  store: VolumeStore,
  viewer: Viewer,
  execution: string,
  { field, volume_id }: { readonly field: string; readonly volume_id: string },
): Promise<VolumeDocument> {
  const { records } = store.parts;
  const tenant = tenantOfViewer(viewer);
  const volume = await records.find(tenant, volume_id.toLowerCase());
  if (volume === null || !sees(viewer, volume.owner))
    throw new SvcError('not_found', `${field}: volume not found`, { field });
  if (volume.storage_class !== 'persistent') {
    throw new SvcError('failed_precondition', `${field}: expected a persistent volume`, { field });
  }
  await forgetEnded(store, volume);
  await records.addUser(tenant, volume.id, execution);
  await store.directory(volume);
  return volume;
}

/** Number of users from which ended ones are removed. */
const PRUNE_FROM = 16;

/** Removes ended executions from the users of a volume. */
async function forgetEnded(store: VolumeStore, volume: VolumeDocument): Promise<void> {
  if (volume.used_by.length < PRUNE_FROM) return;
  const ended = new Set<string>();
  for (const user of volume.used_by) if (await store.parts.ended(volume.tenant, user)) ended.add(user);
  await store.parts.records.change(volume.tenant, volume.id, ({ used_by }) => ({
    used_by: used_by.filter((user) => !ended.has(user)),
  }));
}
