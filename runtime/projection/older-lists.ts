import { type Address, type Partition, parseAddress } from '../address.ts';
import type { ActorDefinition, Registry } from '../define-actor.ts';
import { type Collection, REMOVED_VERSION, type StoredDocument } from '../documents.ts';
import { toSvcError } from '../errors.ts';
import type { Payloads } from '../turns/payload.ts';
import { type ActorRecord, decodeRecord } from '../turns/record.ts';
import type { Views } from './views.ts';

/** The stored record of one actor. */
interface Kept {
  readonly definition: ActorDefinition;
  readonly record: ActorRecord;
}

/**
 * The record that a store has of an actor; null for none. `unreadable`: the record cannot be decoded. `later`: this node cannot
 * read it now, because a newer version wrote it or its blob is unavailable.
 */
export type KeptActor = Kept | 'unreadable' | 'later' | null;

export type KeptActors = ReadonlyMap<Address, KeptActor>;

type Warn = (message: string, error: unknown) => void;

export interface KeptParts {
  readonly store: { load(partition: Partition, addresses: readonly Address[]): Promise<readonly (string | null)[]> };
  readonly registry: Registry;
  readonly payloads: Pick<Payloads, 'unpack'>;
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

/** Decodes the packed record of an actor. Throws nothing: a record that cannot be read must not stop the others. */
export async function keptOf(
  { registry, payloads }: Pick<KeptParts, 'registry' | 'payloads'>,
  address: Address,
  text: string | null,
): Promise<KeptActor> {
  const definition = registry.definitionOf(address);
  if (definition === undefined || text === null) return null;
  try {
    return { definition, record: decodeRecord(definition, await payloads.unpack(text)) };
  } catch (thrown) {
    return toSvcError(thrown).code === 'unavailable' ? 'later' : 'unreadable';
  }
}

/** The record that was read, or null. */
export const readOf = (kept: KeptActor | undefined): Kept | null => (typeof kept === 'object' ? kept : null);

/**
 * Rewrites the list documents of these actors from their states. A list accepts no document older than its current one,
 * and a store that lost its last writes has states older than their documents: further changes of these actors would
 * not be listed until they had caught up, or never. No turn of these actors may run meanwhile. Returns the actors whose
 * lists were ahead.
 */
export async function setListsBack(views: Views, kept: KeptActors, warn: Warn): Promise<readonly Address[]> {
  const ahead: Address[] = [];
  const documents = [...kept].flatMap(([address, one]) =>
    documentOf(address, one, warn).map((made) => ({ address, ...made })),
  );
  const groups = Map.groupBy(documents, ({ collection, document }) => `${collection} ${document.tenant}`);
  for (const group of groups.values()) {
    const [first] = group;
    const view = first === undefined ? undefined : views.get(first.collection);
    if (first === undefined || view === undefined) continue;
    const ids = group.map(({ document: { id } }) => id);
    const { tenant } = first.document;
    const listed = await view.find({ tenant, where: { id: { in: ids } }, limit: ids.length });
    const versions = new Map(listed.map(({ id, version }) => [id, version]));
    for (const { address, document } of group) {
      const newer = versions.get(document.id) ?? 0;
      if (newer <= document.version || newer === REMOVED_VERSION) continue;
      ahead.push(address);
      await replaceListed(view, document, newer, warn);
    }
  }
  return ahead;
}

/**
 * Replaces the list document with version `listed` by the one that this record makes. The version must have been read
 * before the record: if the actor changed since, the projection wrote a newer document, and that one stays.
 */
export async function setListBack(
  views: Views,
  address: Address,
  kept: Kept,
  { listed, warn }: { readonly listed: number; readonly warn: Warn },
): Promise<void> {
  for (const { collection, document } of documentOf(address, kept, warn)) {
    const view = views.get(collection);
    if (view !== undefined) await replaceListed(view, document, listed, warn);
  }
}

/** A refused list document concerns one actor; only unavailable documents stop the others. */
async function replaceListed(
  view: Collection<StoredDocument>,
  document: StoredDocument,
  listed: number,
  warn: Warn,
): Promise<void> {
  if (listed === REMOVED_VERSION) return;
  try {
    await view.replace(document, listed);
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (error.code === 'unavailable') throw error;
    warn(`the list document of ${document.id} could not be replaced by the older state that the store has`, error);
  }
}

/** The list document that a record makes; none for an actor without a list or with a state that has no document. */
export function documentOf(
  address: Address,
  kept: KeptActor,
  warn: Warn,
): { readonly collection: string; readonly document: StoredDocument }[] {
  const read = readOf(kept);
  const view = read?.definition.view;
  if (read === null || view === undefined) return [];
  const { tenant, id } = parseAddress(address);
  try {
    const document = view.project(read.record.state, { tenant, id });
    if (document === null) return [];
    return [{ collection: view.collection, document: { ...document, version: read.record.revision } }];
  } catch (thrown) {
    warn(`the view of ${address} failed: its list keeps the document that it has`, toSvcError(thrown));
    return [];
  }
}
