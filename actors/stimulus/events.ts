import { z } from 'zod';

/** What happened to one delivery (original-facts.md 7): StimulusReceived, then exactly one of the others. */
export const stimulusEvents = {
  StimulusReceived: z.object({ stimulus_id: z.string(), source: z.string(), received_at: z.string() }),
  /** Its workflow is durably started. */
  StimulusClassified: z.object({
    stimulus_id: z.string(),
    workflow_id: z.string(),
    workflow_name: z.string(),
    workflow_execution_id: z.string(),
    routing_mode: z.enum(['Deterministic', 'LlmClassified']),
    confidence: z.number(),
    classified_at: z.string(),
  }),
  /** `code` is one of the error table, `reason` its text. */
  StimulusRejected: z.object({
    stimulus_id: z.string(),
    code: z.string(),
    reason: z.string(),
    rejected_at: z.string(),
  }),
  ClassificationFailed: z.object({
    stimulus_id: z.string(),
    code: z.string(),
    error: z.string(),
    failed_at: z.string(),
  }),
} as const;
