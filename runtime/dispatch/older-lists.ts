import { type Address, parseAddress } from '../address.ts';
import type { ActorDefinition } from '../define-actor.ts';
import type { StoredDocument } from '../documents.ts';
import type { ActorRecord } from '../turns/record.ts';
import type { KernelParts } from './kernel-parts.ts';

/** What the store has of one actor. */
export interface Kept {
  readonly definition: ActorDefinition;
  readonly record: ActorRecord;
}

/**
 * Lists say of these actors what their states say. A list takes no document that is older than the one it has, and a store
 * that lost its last writes has states that are older than their documents: what becomes of them from there on would not be
 * listed until they had come as far again, or never.
 */
export async function setListsBack(
  { views }: Pick<KernelParts, 'views'>,
  kept: ReadonlyMap<Address, Kept | null>,
): Promise<void> {
  const documents = [...kept].flatMap(([address, one]) => documentOf(address, one));
  const groups = Map.groupBy(documents, ({ collection, document }) => `${collection} ${document.tenant}`);
  for (const group of groups.values()) {
    const [
      {
        collection,
        document: { tenant },
      } = { collection: '', document: { tenant: '' } },
    ] = group;
    const view = views.get(collection);
    if (view === undefined) continue;
    const ids = group.map(({ document: { id } }) => id);
    const listed = await view.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
    const versions = new Map(listed.map(({ id, version }) => [id, version]));
    for (const { document } of group) {
      const newer = versions.get(document.id) ?? 0;
      // Where it was changed meanwhile, the projection has written it.
      if (newer > document.version) await view.replace(document, newer);
    }
  }
}

function documentOf(address: Address, kept: Kept | null): { collection: string; document: StoredDocument }[] {
  const { view } = kept?.definition ?? {};
  if (kept === null || view === undefined) return [];
  const { tenant, id } = parseAddress(address);
  const document = view.project(kept.record.state, { tenant, id });
  return document === null
    ? []
    : [{ collection: view.collection, document: { ...document, version: kept.record.revision } }];
}
