import { z } from 'zod';
import type { KnownVolume } from '../../manifests/metadata.ts';
import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import { Identity } from '../../runtime/identity.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { VolumeDirectories } from '../../usecases/ports/volumes.ts';
import { givenVolume } from './execution-volumes.ts';
import { derivedVolumeId, mebibytes, sizeLimitBytes, type VolumeDocument } from './stored-volume.ts';
import type { VolumeStore } from './volume-store.ts';

const storage = {
  storage_class: z.enum(['ephemeral', 'persistent']),
  ttl_hours: z.number().int().min(1).optional(),
  /** MiB. */
  size_limit_mb: z.number().int().min(1).optional(),
};

export const PrepareInput = z.object({
  workflow_execution_id: z.uuid(),
  /** Null: the implicit workspace, whose id is that of the execution. */
  workspace: z.object(storage).nullable(),
  shared_volumes: z
    .array(z.object({ name: z.string().min(1).max(63), ...storage, volume_id: z.uuid().optional() }))
    .max(50),
  /** The identity of the execution, which can mount only volumes that it may see. Absent: all volumes. */
  identity: Identity.optional(),
});
export type PrepareInput = z.output<typeof PrepareInput>;

/**
 * `volumes.prepare` (repeatable): creates the volumes of a workflow execution before its first state (W4). Result:
 * `{workspace: {volume_id, known}, shared: {NAME: {volume_id, known}}}`, `workspace: null` for the implicit one. Ids are derived from execution and name, so a repeat
 * finds the volumes. A persistent volume without `volume_id` belongs to the execution and stays until it is deleted. Throws
 * `not_found` for an unknown `volume_id`, `invalid_argument` for a size over the node's limit.
 */
export function createPrepareEffect(
  volumes: Pick<VolumeDirectories, 'open'> & { readonly store: VolumeStore },
): EffectHandler<typeof PrepareInput> {
  return defineEffect({
    kind: 'volumes.prepare',
    input: PrepareInput,
    async run(input, { tenant }) {
      const { store } = volumes;
      const { workflow_execution_id: execution, workspace, shared_volumes } = input;
      const made: [name: string, volume: PreparedVolume][] = [];
      for (const { name, volume_id, ...volume } of shared_volumes) {
        const one =
          volume_id === undefined
            ? await ownVolume(store, tenant, execution, { ...volume, name: `shared/${name}` })
            : preparedOf(
                await givenVolume(store, input.identity ?? tenant, execution, {
                  volume_id,
                  field: `storage.shared_volumes.${name}.volume_id`,
                }),
              );
        made.push([name, one]);
      }
      const shared = Object.fromEntries(made);
      if (workspace === null) {
        await volumes.open(tenant, execution, { create: true });
        return { workspace: null, shared };
      }
      return { workspace: await ownVolume(store, tenant, execution, { ...workspace, name: 'workspace' }), shared };
    },
  });
}

interface PreparedVolume extends JsonObject {
  readonly volume_id: string;
  readonly known: KnownVolume;
}

const knownOf = ({ size_limit_bytes, workflow_execution_id }: KnownVolume): KnownVolume => ({
  size_limit_bytes,
  workflow_execution_id,
});

const preparedOf = ({ id, ...volume }: VolumeDocument): PreparedVolume => ({ volume_id: id, known: knownOf(volume) });

type OwnVolume = NonNullable<PrepareInput['workspace']> & { readonly name: string };

async function ownVolume(
  store: VolumeStore,
  tenant: string,
  execution: string,
  volume: OwnVolume,
): Promise<PreparedVolume> {
  const id = derivedVolumeId(tenant, execution, volume.name);
  const { storage_class, ttl_hours, size_limit_mb, name } = volume;
  const made = {
    tenant,
    id,
    storage_class,
    ttl_hours,
    made_by: 'workflow' as const,
    workflow_execution_id: execution,
    name: `${execution}/${name}`,
    size_limit_bytes: sizeLimitBytes(mebibytes(size_limit_mb), store.parts.limits),
  };
  if ((await store.make(made)).made) return { volume_id: id, known: knownOf(made) };
  const found = await store.parts.records.get(tenant, id);
  await store.directory(found);
  return { volume_id: id, known: knownOf(found) };
}
