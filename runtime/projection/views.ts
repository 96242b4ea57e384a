import type { Collection, Documents, StoredDocument } from '../documents.ts';
import type { Registry } from '../registry.ts';

/** Collections of list documents by name. */
export type Views = ReadonlyMap<string, Collection<StoredDocument>>;

export async function openViews(documents: Documents, registry: Registry): Promise<Views> {
  const views = new Map<string, Collection<StoredDocument>>();
  for (const { view } of registry.definitions) {
    if (view === undefined) continue;
    const spec = { name: view.collection, unique: [], indexes: view.indexes ?? [] };
    views.set(view.collection, await documents.collection<StoredDocument>(spec));
  }
  return views;
}
