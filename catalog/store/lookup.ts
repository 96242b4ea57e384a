import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { CatalogReader, CatalogScope } from '../api.ts';
import { MAX_PAGE } from '../changes.ts';
import { MAX_ATTEMPTS, type ManifestStore } from './manifest-store.ts';
import { isVisible, STATUSES, type VisibleRecord } from './record.ts';
import { busy, isTenantAdmin, notFound } from './rules.ts';

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ORDER = { user: 0, tenant: 1, global: 2 } as const;
/** What moves down stands in the tenant only after the first look there. */
const LOOKS = 2;

/** What the reader sees by this UUID or name, the nearest scope first: its own, its tenant's, global ones. */
async function findSeen(store: ManifestStore, reader: CatalogReader, idOrName: string): Promise<VisibleRecord[]> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const found = await look(store, reader, idOrName);
    const leaving = found.find((record) => record.leaving_to !== null);
    if (leaving === undefined) return found;
    await store.isSettled(leaving);
  }
  throw busy(store.kind);
}

/** The same; throws `not_found` when there is none. */
export async function findVisible(
  store: ManifestStore,
  reader: CatalogReader,
  idOrName: string,
): Promise<VisibleRecord[]> {
  const found = await findSeen(store, reader, idOrName);
  return found.length === 0 ? notFound(store.kind) : found;
}

/** The same for somebody who wants to change it: an administrator also finds other users' by UUID. */
export async function findToChange(store: ManifestStore, identity: Identity, idOrName: string): Promise<VisibleRecord> {
  if (UUID.test(idOrName) && isTenantAdmin(identity)) {
    const record = await store.records.get(identity.tenant, idOrName.toLowerCase());
    if (record !== null && isVisible(record) && record.leaving_to === null) return record;
  }
  const [first] = await findVisible(store, identity, idOrName);
  return first ?? notFound(store.kind);
}

/**
 * What to change that stands in this scope, also where a nearer one of the same name hides it. Throws
 * `not_found`, and `failed_precondition` when it stands in another.
 */
export async function findStanding(
  store: ManifestStore,
  identity: Identity,
  idOrName: string,
  scope: CatalogScope,
): Promise<VisibleRecord> {
  const known = await findToChange(store, identity, idOrName);
  if (known.scope === scope) return known;
  const seen = await findSeen(store, identity, idOrName);
  const standing = seen.find((record) => record.scope === scope);
  if (standing !== undefined) return standing;
  throw new SvcError('failed_precondition', `the ${store.kind.noun} is in scope ${known.scope}, not ${scope}`, {
    field: 'target_scope',
  });
}

async function look(store: ManifestStore, reader: CatalogReader, idOrName: string): Promise<VisibleRecord[]> {
  if (UUID.test(idOrName)) {
    const found = await lookWith(byId(store, idOrName.toLowerCase()), reader);
    if (found.length > 0) return found;
  }
  return lookWith(byName(store, idOrName), reader);
}

async function lookWith(find: FindIn, reader: CatalogReader): Promise<VisibleRecord[]> {
  for (let round = 0; round < LOOKS; round += 1) {
    const near = await find.in(reader.tenant, ownersFor(reader));
    // An id is in one place; a name may be in several.
    const isWhole = reader.tenant === SYSTEM_TENANT || (near.length > 0 && find.isUnique);
    const far = isWhole ? [] : await find.in(SYSTEM_TENANT, ['']);
    const found = [...near, ...far.filter(({ scope }) => scope === 'global')];
    if (found.length > 0) return found.sort((a, b) => ORDER[a.scope] - ORDER[b.scope]);
  }
  return [];
}

interface FindIn {
  readonly isUnique: boolean;
  in(tenant: string, owners: readonly string[]): Promise<VisibleRecord[]>;
}

const byName = ({ records }: ManifestStore, name: string): FindIn => ({
  isUnique: false,
  async in(tenant, owners) {
    const where = { name, owner: { in: owners }, status: { in: STATUSES } };
    return (await records.find({ tenant, where, limit: MAX_PAGE })).filter(isVisible);
  },
});

const byId = ({ records }: ManifestStore, id: string): FindIn => ({
  isUnique: true,
  async in(tenant, owners) {
    const record = await records.get(tenant, id);
    return record !== null && isVisible(record) && owners.includes(record.owner) ? [record] : [];
  },
});

/** Owners of what a reader sees in its own tenant; those of no user have the empty one. */
export const ownersFor = ({ subject }: CatalogReader): readonly string[] =>
  subject === undefined ? [''] : ['', subject];
