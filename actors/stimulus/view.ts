import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { StimulusRecord } from './api.ts';
import type { StimulusState } from './state.ts';

/** Where the lists of stimuli come from (design R2). A document's id is the stimulus' id, not its actor's. */
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
