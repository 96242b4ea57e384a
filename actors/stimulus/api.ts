import type { CallOptions } from '../../runtime/client.ts';
import type { Identity } from '../../runtime/identity.ts';

export interface IngestStimulus {
  readonly source: string;
  readonly content: string;
  readonly idempotencyKey?: string;
  /** Forwarded HTTP headers; never those that carry secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly identity: Identity;
}

export interface StimulusRecord {
  readonly id: string;
  readonly source: string;
  readonly status: 'received' | 'routed' | 'rejected';
  readonly workflow_execution_id: string | null;
  readonly reason: string | null;
  readonly received_at: string;
}

/** Stimuli: idempotency, direct route, router agent (spec 1 IngestStimulus, spec 2 Stimulus, decided.md). */
export interface StimulusApi {
  /**
   * Resolves when its workflow is durably started. Throws `idempotent_duplicate` (with the first one's ids),
   * `classification_failed`, `no_router_configured`, `workflow_error`, `validation_failed`.
   */
  ingest(
    request: IngestStimulus,
    options?: CallOptions,
  ): Promise<{ readonly stimulus_id: string; readonly workflow_execution_id: string }>;
  list(tenant: string, page: { readonly limit: number; readonly skip: number }): Promise<StimulusRecord[]>;
  get(tenant: string, stimulusId: string): Promise<StimulusRecord>;
}
