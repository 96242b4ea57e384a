import type { CallOptions } from '../runtime/client.ts';
import type { Page, PageAsked } from '../runtime/documents/pages.ts';
import type { CollectionSpec, StoredDocument } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { StimulusState } from '../actors/stimulus/messages.ts';

export interface StimulusContent {
  readonly source: string;
  readonly content: string;
  /** `base64`: what came were bytes and no text. */
  readonly contentEncoding?: 'base64';
  readonly idempotencyKey?: string;
  /** Of the key; by default a repeat is refused for 24 hours (G14, H22). */
  readonly repeats?: RepeatRules;
  /** Forwarded HTTP headers; those that could carry secrets are left out here. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What becomes of a stimulus whose key came before. */
interface RepeatRules {
  /** How long it is a repeat, from the first one on. */
  readonly windowMs: number;
  /** As the first one, once that has its workflow; otherwise it is refused. */
  readonly answered: boolean;
}

export interface IngestStimulus extends StimulusContent {
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

export interface StimulusStarted {
  readonly stimulus_id: string;
  readonly workflow_execution_id: string;
  /** Both ids are those of an earlier delivery, and nothing was started now. */
  readonly duplicate?: true;
}

export interface IngestOptions extends CallOptions {
  /** Told when it is durably received and an agent is asked where it goes: that takes as long as the agent takes. */
  readonly onBegun?: () => void;
}

/** Stimuli: idempotency, direct route, router agent (G14, H22, H23). */
export interface StimulusApi {
  /**
   * Resolves when its workflow is durably started. Throws `idempotent_duplicate` (see `duplicateOf`),
   * `classification_failed`, `no_router_configured`, `workflow_error`, `validation_failed`. Once it is received it goes
   * on without its caller. A repeat whose rules say that it is answered resolves, or throws, as the first one does.
   */
  ingest(request: IngestStimulus, options?: IngestOptions): Promise<StimulusStarted>;
  /** The same for a webhook whose signature was verified; the route names the tenant. Throws `not_found` without route and router. */
  ingestWebhook(request: StimulusContent, options?: IngestOptions): Promise<StimulusStarted>;
  /** Newest first. */
  list(tenant: string, page: PageAsked): Promise<Page<StimulusRecord>>;
  /** Throws `not_found`. */
  get(tenant: string, stimulusId: string): Promise<StimulusRecord>;
}

/** What a refused duplicate says of the first one. */
interface Duplicate {
  readonly original_stimulus_id: string;
  readonly workflow_execution_id: string;
}

/** The error of a duplicate; the ids travel as its details. */
export function duplicateDetails(first: Duplicate): { path: string; message: string }[] {
  return Object.entries(first).map(([path, message]) => ({ path, message }));
}

/** Null for every error but `idempotent_duplicate`. */
export function duplicateOf(thrown: unknown): Duplicate | null {
  if (!(thrown instanceof SvcError) || thrown.code !== 'idempotent_duplicate') return null;
  const of = (name: keyof Duplicate): string => thrown.details?.find(({ path }) => path === name)?.message ?? '';
  return {
    original_stimulus_id: of('original_stimulus_id'),
    workflow_execution_id: of('workflow_execution_id'),
  };
}

/** Where the lists of stimuli come from (R2). A document's id is the stimulus' id, not its actor's. */
export const STIMULI: CollectionSpec = { name: 'stimuli', unique: [], indexes: [['received_at'], ['source']] };

/** One stimulus in lists. */
export interface StimulusDocument extends StoredDocument, StimulusRecord {}

export function projectStimulus(
  state: StimulusState,
  { tenant }: { readonly tenant: string },
): Omit<StimulusDocument, 'version'> | null {
  if (state.status === 'new') return null;
  const { stimulus_id, workflow_execution_id, source, received_at } = state.delivery;
  const outcome = 'outcome' in state ? state.outcome : null;
  const rejected = outcome?.kind === 'rejected';
  return {
    tenant,
    id: stimulus_id,
    source,
    status: outcome?.kind ?? 'received',
    // One that was rejected has started nothing.
    workflow_execution_id: rejected ? null : workflow_execution_id,
    reason: rejected ? `${outcome.code}: ${outcome.reason}` : null,
    received_at,
  };
}
