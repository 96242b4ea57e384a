import { type Address, type Partition, parseAddress } from '../address.ts';
import type { ActorDefinition, Registry } from '../define-actor.ts';
import { REMOVED_VERSION, type StoredDocument } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import type { Payloads } from '../turns/payload.ts';
import { type ActorRecord, decodeRecord } from '../turns/record.ts';
import type { Views } from './views.ts';

/** The stored record of one actor. */
export interface Kept {
  readonly definition: ActorDefinition;
  readonly record: ActorRecord;
}

/** Actors with their stored records. Null when there is none, or when it cannot be read. */
export type KeptActors = ReadonlyMap<Address, Kept | null>;

export interface KeptParts {
  readonly store: { load(partition: Partition, addresses: readonly Address[]): Promise<readonly (string | null)[]> };
  readonly registry: Registry;
  readonly payloads: Payloads;
}

export async function keptIn(
  parts: KeptParts,
  partition: Partition,
  addresses: readonly Address[],
): Promise<KeptActors> {
  const texts = await parts.store.load(partition, addresses);
  const kept = addresses.map(async (address, n) => [address, await keptOf(parts, address, texts[n] ?? null)] as const);
  return new Map(await Promise.all(kept));
}

async function keptOf({ registry, payloads }: KeptParts, address: Address, text: string | null): Promise<Kept | null> {
  const definition = registry.definitionOf(address);
  if (definition === undefined || text === null) return null;
  try {
    return { definition, record: decodeRecord(definition, await payloads.unpack(text)) };
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (error.code === 'unavailable') throw error;
    return null;
  }
}

/**
 * Rewrites the list documents of these actors from their states. A list accepts no document older than its current one,
 * and a store that lost its last writes has states older than their documents: further changes of these actors would
 * not be listed until they had caught up, or never.
 */
export async function setListsBack(views: Views, kept: KeptActors): Promise<void> {
  const documents = [...kept].flatMap(([address, one]) => documentOf(address, one));
  const groups = Map.groupBy(documents, ({ collection, document }) => `${collection} ${document.tenant}`);
  for (const group of groups.values()) {
    const [first] = group;
    const view = first === undefined ? undefined : views.get(first.collection);
    if (first === undefined || view === undefined) continue;
    const ids = group.map(({ document: { id } }) => id);
    const { tenant } = first.document;
    const listed = await view.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
    const versions = new Map(listed.map(({ id, version }) => [id, version]));
    for (const { document } of group) {
      const newer = versions.get(document.id) ?? 0;
      // If the document was changed meanwhile, the projection has written it.
      if (newer > document.version && newer !== REMOVED_VERSION) await view.replace(document, newer);
    }
  }
}

function documentOf(address: Address, kept: Kept | null): { collection: string; document: StoredDocument }[] {
  const { view } = kept?.definition ?? {};
  if (kept === null || view === undefined) return [];
  const { tenant, id } = parseAddress(address);
  const document = view.project(kept.record.state, { tenant, id });
  if (document === null) return [];
  return [{ collection: view.collection, document: { ...document, version: kept.record.revision } }];
}
