import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { UUID } from '../../runtime/random.ts';
import type { CatalogReader, CatalogScope } from '../api.ts';
import { MAX_PAGE } from '../changes.ts';
import { MAX_ATTEMPTS, type ManifestStore } from './manifest-store.ts';
import { isVisible, STATUSES, type VisibleRecord } from './record.ts';
import { busy, isTenantAdmin, notFound } from './rules.ts';

const ORDER = { user: 0, tenant: 1, global: 2 } as const;
/** Number of reads. An entry that moves from global to the tenant may appear in the tenant only after the first read. */
const LOOKS = 2;

/** The entries that the reader sees by this UUID or name, in the order of its own, its tenant's, and global ones. */
async function findSeen(store: ManifestStore, reader: CatalogReader, idOrName: string): Promise<VisibleRecord[]> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const found = await look(store, reader, idOrName);
    const leaving = found.find((record) => record.leaving_to !== null);
    if (leaving === undefined) return found;
    await store.isSettled(leaving);
  }
  throw busy(store.kind);
}

/** As `findSeen`; throws `not_found` when there is none. */
export async function findVisible(
  store: ManifestStore,
  reader: CatalogReader,
  idOrName: string,
): Promise<VisibleRecord[]> {
  const found = await findSeen(store, reader, idOrName);
  return found.length === 0 ? notFound(store.kind) : found;
}

/** As `findVisible`, for changes: administrators also find entries of other users by UUID. */
export async function findToChange(store: ManifestStore, identity: Identity, idOrName: string): Promise<VisibleRecord> {
  if (UUID.test(idOrName) && isTenantAdmin(identity)) {
    const record = await store.records.get(identity.tenant, idOrName.toLowerCase());
    if (record !== null && isVisible(record) && record.leaving_to === null) return record;
  }
  const [first] = await findVisible(store, identity, idOrName);
  return first ?? notFound(store.kind);
}

/**
 * The entry of this scope to change, even when an entry of a nearer scope has the same name. Throws `not_found`, and
 * `failed_precondition` when the entry has another scope.
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
    // An id exists in one scope only; a name may exist in several.
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

/** Values of `owner` that a reader sees in its tenant; entries without a user have an empty owner. */
export const ownersFor = ({ subject }: CatalogReader): readonly string[] =>
  subject === undefined ? [''] : ['', subject];
