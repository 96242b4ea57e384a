import type { Collection, Documents, StoredDocument } from '../../runtime/documents.ts';

/**
 * Which container an effect was started in, written before the start. A container that is gone may have run when there
 * is a record, and certainly has not when there is none: so nothing runs twice, and nothing that never ran is given up.
 */
export interface ContainerStarts {
  /** Durable, the first wins: answers whose start is recorded. */
  record(tenant: string, effectId: string, start: ContainerStart): Promise<ContainerStart>;
  find(tenant: string, effectId: string): Promise<ContainerStart | null>;
  /** The container was taken away before it was started, or nobody asks for the effect any more. */
  forget(tenant: string, effectId: string): Promise<void>;
}

export interface ContainerStart {
  readonly containerId: string;
  readonly attempt: number;
  /** Unix ms by the engine's clock: where its events about the container begin. */
  readonly createdAt: number;
}

interface StartDocument extends StoredDocument {
  readonly container_id: string;
  readonly attempt: number;
  readonly created_at: number;
}

/** Kept in Documents, which all nodes share. */
export async function createContainerStarts(documents: Documents): Promise<ContainerStarts> {
  const starts: Collection<StartDocument> = await documents.collection({
    name: 'container_starts',
    unique: [],
    indexes: [],
  });
  const find = async (tenant: string, effectId: string): Promise<ContainerStart | null> => {
    const found = await starts.get(tenant, effectId);
    if (found === null) return null;
    return { containerId: found.container_id, attempt: found.attempt, createdAt: found.created_at };
  };
  return {
    find,
    async record(tenant, effectId, start) {
      const { containerId: container_id, attempt, createdAt: created_at } = start;
      if (await starts.insert({ tenant, id: effectId, version: 1, container_id, attempt, created_at })) return start;
      // Forgotten in between: whoever did that has taken over.
      return (await find(tenant, effectId)) ?? { containerId: '', attempt: Number.MAX_SAFE_INTEGER, createdAt: 0 };
    },
    async forget(tenant, effectId) {
      await starts.delete(tenant, effectId);
    },
  };
}
