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
}

interface StartDocument extends StoredDocument {
  readonly container_id: string;
  readonly attempt: number;
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
    return found === null ? null : { containerId: found.container_id, attempt: found.attempt };
  };
  return {
    find,
    async record(tenant, effectId, { containerId, attempt }) {
      const document = { tenant, id: effectId, version: 1, container_id: containerId, attempt };
      if (await starts.insert(document)) return { containerId, attempt };
      // Forgotten in between: whoever did that has taken over.
      return (await find(tenant, effectId)) ?? { containerId: '', attempt: Number.MAX_SAFE_INTEGER };
    },
    async forget(tenant, effectId) {
      await starts.delete(tenant, effectId);
    },
  };
}
