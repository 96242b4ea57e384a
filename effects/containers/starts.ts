import type { Collection, Documents, StoredDocument } from '../../runtime/documents.ts';

/**
 * Which container an effect was started in, written before the start. A container that is gone may have run when there
 * is a record, and certainly has not when there is none: so nothing runs twice, and nothing that never ran is given up.
 */
export interface ContainerStarts {
  /** Durable, the first wins: the container this effect is started in, and whether this call said so. */
  record(tenant: string, effectId: string, containerId: string): Promise<{ containerId: string; first: boolean }>;
  find(tenant: string, effectId: string): Promise<string | null>;
  /** Nobody asks for this effect any more. */
  forget(tenant: string, effectId: string): Promise<void>;
}

interface StartDocument extends StoredDocument {
  readonly container_id: string;
}

/** Kept in Documents, which all nodes share. */
export async function createContainerStarts(documents: Documents): Promise<ContainerStarts> {
  const starts: Collection<StartDocument> = await documents.collection({
    name: 'container_starts',
    unique: [],
    indexes: [],
  });
  const find = async (tenant: string, effectId: string) => (await starts.get(tenant, effectId))?.container_id ?? null;
  return {
    find,
    async record(tenant, effectId, containerId) {
      if (await starts.insert({ tenant, id: effectId, version: 1, container_id: containerId })) {
        return { containerId, first: true };
      }
      return { containerId: (await find(tenant, effectId)) ?? '', first: false };
    },
    async forget(tenant, effectId) {
      await starts.delete(tenant, effectId);
    },
  };
}
