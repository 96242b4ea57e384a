import type { WorkflowManifest } from '../manifests/workflow/schema.ts';
import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import { MAX_VERSIONS, type VersionEntry, withVersion } from './versions.ts';
import type { WorkflowEntry, WorkflowScope } from './workflow-api.ts';
import type { Place, WorkflowEventType, WorkflowRecord } from './workflow-record.ts';

/** Where a workflow of this scope stands when this identity deploys it. */
export function placeOf(identity: Identity, scope: WorkflowScope, userId: string = identity.subject): Place {
  return {
    tenant: scope === 'global' ? SYSTEM_TENANT : identity.tenant,
    scope,
    owner: scope === 'user' ? userId : '',
  };
}

/** Why this manifest cannot become a version of the workflow that is there; null when it can. */
export function refusalOf(manifest: WorkflowManifest, known: WorkflowRecord | null, force: boolean): SvcError | null {
  if (known === null) return null;
  const { name, version } = manifest.metadata;
  if (known.versions.some((entry) => entry.version === version))
    return force
      ? null
      : new SvcError('conflict', `workflow ${name} version ${version} exists; use force to replace it`, {
          field: 'metadata.version',
        });
  return known.versions.length < MAX_VERSIONS
    ? null
    : new SvcError('failed_precondition', `workflow ${name} has ${MAX_VERSIONS} versions, the most there may be`);
}

interface Deploy {
  readonly place: Place;
  readonly workflowId: string;
  readonly manifestId: string;
  readonly at: string;
  readonly by: string;
}

/** The workflow's record with the manifest as one more version, or as the same version anew. */
export function deployedRecord(
  manifest: WorkflowManifest,
  known: WorkflowRecord | null,
  { place, workflowId, manifestId, at, by }: Deploy,
): WorkflowRecord {
  const { name, version, description, labels } = manifest.metadata;
  const versions = withVersion(known?.versions ?? [], { version, manifest_id: manifestId, deployed_at: at });
  const newest = { description, labels, initial_state: manifest.spec.initial_state };
  const payload = { workflow_id: workflowId, tenant_id: place.tenant, name, version, scope: place.scope, by };
  return {
    ...place,
    id: workflowId,
    version: (known?.version ?? 0) + 1,
    name,
    versions,
    ...(known === null || versions[0]?.version === version ? newest : newestOf(known)),
    status: 'deployed',
    arriving_from: null,
    leaving_to: null,
    last_event: eventAfter(known, 'WorkflowRegistered', payload, at),
  };
}

const newestOf = ({ description, labels, initial_state }: WorkflowRecord) => ({ description, labels, initial_state });

export function deletedRecord(known: WorkflowRecord, by: string, at: string): WorkflowRecord {
  const { id, name, tenant, scope } = known;
  const payload = { workflow_id: id, tenant_id: tenant, name, scope, by };
  const last_event = eventAfter(known, 'WorkflowRemoved', payload, at);
  return { ...known, version: known.version + 1, status: 'deleted', last_event };
}

/** The event that a workflow stands somewhere else. */
export function scopeChanged(known: WorkflowRecord, to: Place, by: string, at: string): WorkflowRecord['last_event'] {
  const payload = {
    workflow_id: known.id,
    name: known.name,
    previous_scope: known.scope,
    previous_tenant_id: known.tenant,
    new_scope: to.scope,
    new_tenant_id: to.tenant,
    changed_by: by,
  };
  return eventAfter(known, 'WorkflowScopeChanged', payload, at);
}

function eventAfter(
  known: WorkflowRecord | null,
  event_type: WorkflowEventType,
  payload: WorkflowRecord['last_event']['payload'],
  at: string,
): WorkflowRecord['last_event'] {
  return { sequence: (known?.last_event.sequence ?? 0) + 1, event_type, payload, recorded_at: at };
}

export function newestEntry(record: WorkflowRecord): WorkflowEntry {
  const [newest] = record.versions;
  return newest === undefined ? notFound() : entryOf(record, newest, record);
}

export function entryOf(
  record: WorkflowRecord,
  entry: VersionEntry,
  of: Pick<WorkflowEntry, 'description' | 'labels' | 'initial_state'>,
): WorkflowEntry {
  return {
    id: record.id,
    name: record.name,
    version: entry.version,
    initial_state: of.initial_state,
    scope: record.scope,
    owner: record.scope === 'user' ? record.owner : null,
    description: of.description,
    labels: of.labels,
    deployed_at: entry.deployed_at,
  };
}

/** What an entry shows of a manifest. */
export const shownOf = ({ metadata, spec }: WorkflowManifest) => ({
  description: metadata.description,
  labels: metadata.labels,
  initial_state: spec.initial_state,
});

/** Unknown, deleted and another tenant's or user's workflows answer alike. */
export function notFound(): never {
  throw new SvcError('not_found', 'workflow not found');
}

export const busy = (): SvcError =>
  new SvcError('unavailable', 'the workflow is being changed by others; try again', { retryAfterMs: 1_000 });
