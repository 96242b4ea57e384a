import { derivedUuid } from '../../runtime/derived-uuid.ts';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { Volume } from './api.ts';

/** What is known of volumes; names are unique in a tenant. */
export const VOLUME_DOCUMENTS: CollectionSpec = {
  name: 'volumes',
  unique: [['name']],
  indexes: [['created_at'], ['expires_at_ms'], ['status'], ['made_by']],
};

/** The document is the truth and is written first; the directory follows and is made again when it is missing. */
export interface VolumeDocument extends StoredDocument {
  readonly name: string;
  readonly storage_class: 'ephemeral' | 'persistent';
  readonly size_limit_bytes: number | null;
  /** Unix ms. */
  readonly expires_at_ms: number | null;
  /** `implicit`: workspace of an execution without storage of its own, the id is that of the execution. */
  readonly made_by: 'api' | 'workflow' | 'implicit';
  readonly workflow_execution_id: string | null;
  /** Subject that alone sees it, beside operators: of an execution that is one's own; absent: it is the tenant's. */
  readonly owner?: string;
  /** Workflow executions that mounted a volume made before; the ended ones are taken out now and then. */
  readonly used_by: readonly string[];
  /** ISO time. */
  readonly created_at: string;
  /** A volume on its way out is not there for anybody; the sweep ends what a crash left half removed. */
  readonly status: 'ready' | 'removing';
}

export const shown = (volume: VolumeDocument, usedBytes: number): Volume => ({
  id: volume.id,
  name: volume.name,
  storage_class: volume.storage_class,
  size_limit_bytes: volume.size_limit_bytes,
  used_bytes: usedBytes,
  expires_at: volume.expires_at_ms === null ? null : new Date(volume.expires_at_ms).toISOString(),
  workflow_execution_id: volume.workflow_execution_id,
  created_at: volume.created_at,
});

/** UUID of a volume of a workflow execution: the same each time it is asked for. */
export const derivedVolumeId = (tenant: string, workflowExecutionId: string, name: string): string =>
  derivedUuid('svc-volume', tenant, workflowExecutionId, name);
