import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { ADMIN_ROLE, OPERATOR_ROLE } from '../../security/tenant.ts';
import type { CatalogLogEvent, CatalogScope, CatalogStatus } from '../api.ts';
import {
  type CatalogKind,
  type CatalogRecord,
  isVisible,
  latestOf,
  MAX_VERSIONS,
  type ManifestHead,
  type Namespace,
  type Shown,
  withVersion,
} from './record.ts';

/** The changes of a record, as pure functions. */

type Kind = Omit<CatalogKind<never>, 'read' | 'shown'>;

/** User and time (ISO 8601) of a change. */
export interface Change {
  readonly by: string;
  readonly at: string;
}

/** The namespace to which an identity deploys in this scope. */
export function namespaceOf(identity: Identity, scope: CatalogScope, userId: string = identity.subject): Namespace {
  return {
    tenant: scope === 'global' ? SYSTEM_TENANT : identity.tenant,
    scope,
    owner: scope === 'user' ? userId : '',
  };
}

/** Why the manifest cannot become a version of the existing entry; null when it can. */
export function refusalOf(
  { noun }: Kind,
  { metadata: { name, version } }: ManifestHead,
  known: CatalogRecord | null,
  force: boolean,
): SvcError | null {
  if (known === null) return null;
  if (known.versions.some((entry) => entry.version === version))
    return force
      ? null
      : new SvcError('conflict', `${noun} ${name} version ${version} exists; use force to replace it`, {
          field: 'metadata.version',
        });
  return known.versions.length < MAX_VERSIONS
    ? null
    : new SvcError(
        'failed_precondition',
        `${noun} ${name} has ${MAX_VERSIONS} versions, the maximum; deploy it under another name`,
      );
}

interface Deploy extends Change {
  readonly namespace: Namespace;
  readonly id: string;
  readonly manifestId: string;
  readonly shown: Shown;
}

/** The record with the manifest as a new version, or as a replacement of the same version. The status does not change. */
export function deployedRecord(
  kind: Kind,
  { metadata: { name, version } }: ManifestHead,
  known: CatalogRecord | null,
  { namespace, id, manifestId, shown, by, at }: Deploy,
): CatalogRecord {
  const versions = withVersion(known?.versions ?? [], { version, manifest_id: manifestId, deployed_at: at });
  const payload = { ...subject(kind, { ...namespace, id, name }), version, deployed_at: at, by };
  return {
    ...(known ?? { created_by: by }),
    ...namespace,
    id,
    version: (known?.version ?? 0) + 1,
    name,
    versions,
    ...(known === null || latestOf(versions)?.version === version ? shown : shownOf(known)),
    status: known !== null && isVisible(known) ? known.status : 'deployed',
    arriving_from: null,
    leaving_to: null,
    last_event: eventAfter(known, kind.events.deployed, payload, at),
  };
}

const shownOf = ({ description, labels, initial_state }: CatalogRecord): Shown => ({
  description,
  labels,
  ...(initial_state === undefined ? {} : { initial_state }),
});

export function deletedRecord(kind: Kind, known: CatalogRecord, { by, at }: Change): CatalogRecord {
  const payload = { ...subject(kind, known), deleted_at: at, by };
  const last_event = eventAfter(known, kind.events.removed, payload, at);
  return { ...known, version: known.version + 1, status: 'deleted', last_event };
}

export function statusRecord(
  kind: Kind,
  known: CatalogRecord,
  status: CatalogStatus,
  { by, at }: Change,
): CatalogRecord {
  const payload = { ...subject(kind, known), previous_status: known.status, status, changed_at: at, by };
  const last_event = eventAfter(known, kind.events.status[status], payload, at);
  return { ...known, version: known.version + 1, status, last_event };
}

/** The event of a change of scope. */
export function scopeChanged(kind: Kind, known: CatalogRecord, to: Namespace, { by, at }: Change): CatalogLogEvent {
  const payload = {
    [kind.idField]: known.id,
    name: known.name,
    previous_scope: known.scope,
    previous_tenant_id: known.tenant,
    new_scope: to.scope,
    new_tenant_id: to.tenant,
    ...ownerOf(to),
    changed_at: at,
    changed_by: by,
  };
  return eventAfter(known, kind.events.moved, payload, at);
}

const subject = ({ idField }: Kind, known: Namespace & { readonly id: string; readonly name: string }) => ({
  [idField]: known.id,
  tenant_id: known.tenant,
  name: known.name,
  scope: known.scope,
  ...ownerOf(known),
});

const ownerOf = ({ scope, owner }: Namespace) => (scope === 'user' ? { owner } : {});

function eventAfter(
  known: CatalogRecord | null,
  event_type: string,
  payload: CatalogLogEvent['payload'],
  at: string,
): CatalogLogEvent {
  return { sequence: (known?.last_event.sequence ?? 0) + 1, event_type, payload, recorded_at: at };
}

/** Throws the same error for unknown and deleted entries and for those of other tenants or users (H10). */
export function notFound({ noun }: Kind): never {
  throw new SvcError('not_found', `${noun} not found`);
}

export const busy = ({ noun }: Kind): SvcError =>
  new SvcError('unavailable', `other calls are changing the ${noun}; try again`, { retryAfterMs: 1_000 });

type PermissionsKind = Pick<CatalogKind<never>, 'noun'>;

/** Whether it has the operator role: the local operator, or a user of the system realm with the role (H7). */
const isOperator = ({ kind, roles }: Identity): boolean =>
  kind === 'local' || (kind === 'operator' && (roles.includes(ADMIN_ROLE) || roles.includes(OPERATOR_ROLE)));

/** Whether it is an administrator of its tenant, or an operator. */
export const isTenantAdmin = (identity: Identity): boolean =>
  isOperator(identity) || (identity.kind === 'tenant_user' && identity.roles.includes(ADMIN_ROLE));

/** Throws `forbidden` unless the identity may deploy to this scope (W2). */
export function requireDeploy({ noun }: PermissionsKind, identity: Identity, scope: CatalogScope): void {
  if (scope === 'global' && !isOperator(identity))
    throw new SvcError('forbidden', `scope global: only an operator may change global ${noun}s`);
}

/** Throws `forbidden` unless the identity may delete, pause or archive entries in this namespace. */
export function requireChange(kind: PermissionsKind, identity: Identity, namespace: Namespace): void {
  requireDeploy(kind, identity, namespace.scope);
  if (namespace.scope === 'user' && namespace.owner !== identity.subject && !isTenantAdmin(identity))
    throw new SvcError('forbidden', `the ${kind.noun} belongs to another user`);
}

/** Throws `forbidden` unless the identity may change the scope (W2, H7). */
export function requireScopeChange(
  kind: PermissionsKind,
  identity: Identity,
  from: CatalogScope,
  to: CatalogScope,
): void {
  requireDeploy(kind, identity, from);
  requireDeploy(kind, identity, to);
  if (!isTenantAdmin(identity))
    throw new SvcError('forbidden', 'only an operator or an administrator of the tenant may promote and demote');
}
