import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import { MAX_PAGE } from './page.ts';
import type { CatalogReader, WorkflowScope } from './workflow-api.ts';
import { isTenantAdmin } from './workflow-permissions.ts';
import type { WorkflowRecord } from './workflow-record.ts';
import { busy, notFound } from './workflow-rules.ts';
import { MAX_ATTEMPTS, type WorkflowShelf } from './workflow-shelf.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ORDER = { user: 0, tenant: 1, global: 2 } as const;
/** A workflow that moves down stands in the tenant only after the first look there. */
const LOOKS = 2;

/**
 * What the reader sees by this UUID or name, the nearest scope first: its own, its tenant's, global ones. Throws
 * `not_found`.
 */
export async function findVisible(
  shelf: WorkflowShelf,
  reader: CatalogReader,
  idOrName: string,
): Promise<WorkflowRecord[]> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const found = await look(shelf, reader, idOrName);
    const leaving = found.find((record) => record.leaving_to !== null);
    if (leaving === undefined) return found.length === 0 ? notFound() : found;
    await shelf.isSettled(leaving);
  }
  throw busy();
}

/** The same for somebody who wants to change it: an administrator also finds other users' workflows by UUID. */
export async function findToChange(
  shelf: WorkflowShelf,
  identity: Identity,
  idOrName: string,
): Promise<WorkflowRecord> {
  if (UUID.test(idOrName) && isTenantAdmin(identity)) {
    const record = await shelf.records.get(identity.tenant, idOrName.toLowerCase());
    if (record?.status === 'deployed' && record.leaving_to === null) return record;
  }
  const [first] = await findVisible(shelf, { tenant: identity.tenant, subject: identity.subject }, idOrName);
  return first ?? notFound();
}

/**
 * The workflow to change that stands in this scope, also where a nearer one of the same name hides it. Throws
 * `not_found`, and `failed_precondition` when it stands in another.
 */
export async function findStanding(
  shelf: WorkflowShelf,
  identity: Identity,
  idOrName: string,
  scope: WorkflowScope,
): Promise<WorkflowRecord> {
  const known = await findToChange(shelf, identity, idOrName);
  if (known.scope === scope) return known;
  const seen = await findVisible(shelf, { tenant: identity.tenant, subject: identity.subject }, idOrName);
  const standing = seen.find((record) => record.scope === scope);
  if (standing !== undefined) return standing;
  throw new SvcError('failed_precondition', `the workflow is in scope ${known.scope}, not ${scope}`, {
    field: 'target_scope',
  });
}

async function look(shelf: WorkflowShelf, reader: CatalogReader, idOrName: string): Promise<WorkflowRecord[]> {
  const find = UUID.test(idOrName) ? byId(shelf, idOrName.toLowerCase()) : byName(shelf, idOrName);
  for (let round = 0; round < LOOKS; round += 1) {
    const near = await find(reader.tenant, ownersFor(reader));
    const far = reader.tenant === SYSTEM_TENANT ? [] : await find(SYSTEM_TENANT, ['']);
    const seen = [...near, ...far.filter(({ scope }) => scope === 'global')];
    if (seen.length > 0) return seen.sort((a, b) => ORDER[a.scope] - ORDER[b.scope]);
  }
  return [];
}

type FindIn = (tenant: string, owners: readonly string[]) => Promise<WorkflowRecord[]>;

const byName =
  ({ records }: WorkflowShelf, name: string): FindIn =>
  (tenant, owners) =>
    records.find({ tenant, where: { name, owner: { in: owners }, status: 'deployed' }, limit: MAX_PAGE });

const byId =
  ({ records }: WorkflowShelf, id: string): FindIn =>
  async (tenant, owners) => {
    const record = await records.get(tenant, id);
    return record?.status === 'deployed' && owners.includes(record.owner) ? [record] : [];
  };

/** Owners of what a reader sees in its own tenant; workflows of no user have the empty one. */
export const ownersFor = ({ subject }: CatalogReader): readonly string[] =>
  subject === undefined ? [''] : ['', subject];
