import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { StimulusState } from './messages.ts';
export interface StimulusRecord {
  readonly id: string;
  readonly source: string;
  readonly status: 'received' | 'routed' | 'rejected';
  readonly workflow_execution_id: string | null;
  readonly reason: string | null;
  readonly received_at: string;
}

/** The first delivery, as the error of a refused duplicate reports it. */
export interface Duplicate {
  readonly original_stimulus_id: string;
  readonly workflow_execution_id: string;
}

/** The error of a duplicate; its details carry the ids. */
export function duplicateDetails(first: Duplicate): { path: string; message: string }[] {
  return Object.entries(first).map(([path, message]) => ({ path, message }));
}

/** Collection behind the lists of stimuli (R2). A document's id is that of the stimulus, not of its actor. */
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
    // A rejected one has started nothing.
    workflow_execution_id: rejected ? null : workflow_execution_id,
    reason: rejected ? `${outcome.code}: ${outcome.reason}` : null,
    received_at,
  };
}
