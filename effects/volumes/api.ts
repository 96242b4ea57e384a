import type { Identity } from '../../runtime/identity.ts';

export interface Volume {
  readonly id: string;
  readonly name: string;
  readonly storage_class: 'ephemeral' | 'persistent';
  /** Null: no limit. */
  readonly size_limit_bytes: number | null;
  readonly used_bytes: number;
  /** Null: kept until deleted. */
  readonly expires_at: string | null;
  /** Workflow execution it was made for; null for one made through the API. */
  readonly workflow_execution_id: string | null;
  readonly created_at: string;
}

/** Volumes of a tenant over REST and CLI (decided.md, Workflows). */
export interface VolumeApi {
  create(
    identity: Identity,
    request: {
      readonly name: string;
      readonly storage_class: 'ephemeral' | 'persistent';
      readonly size_limit_bytes?: number;
      readonly ttl_hours?: number;
    },
  ): Promise<Volume>;
  list(tenant: string, page?: { readonly limit: number; readonly skip: number }): Promise<Volume[]>;
  get(tenant: string, volumeId: string): Promise<Volume>;
  /** Throws `conflict` while a running execution has it mounted. */
  delete(identity: Identity, volumeId: string): Promise<void>;
}

/** Where other effects find a volume's files. */
export interface VolumeDirectories {
  /**
   * Host directory of a volume, for one run. `create` makes an execution's implicit workspace when it is not there.
   * Throws `not_found`, also for another tenant's volume.
   */
  open(
    tenant: string,
    volumeId: string,
    options?: { readonly create?: boolean },
  ): Promise<{ readonly directory: string; readonly sizeLimitBytes: number | null }>;
  /** Throws `quota_exceeded` (ENOSPC) when a volume holds more than its limit. */
  checkQuota(tenant: string, volumeId: string): Promise<void>;
}
