import type { Collection, CollectionSpec, Documents, StoredDocument } from '../documents.ts';
import { type NoteCall, timed } from '../meter.ts';

/** The same documents, the calls of whose collections are timed. */
export const meteredDocuments = (documents: Documents, note: NoteCall): Documents => ({
  open: () => documents.open(),
  close: () => documents.close(),
  async collection<T extends StoredDocument>(spec: CollectionSpec): Promise<Collection<T>> {
    return timed(await documents.collection<T>(spec), note);
  },
});
