import { z } from 'zod';
import { nextPageField, uuid } from './fields.ts';

const MAX_NAME_CHARS = 200;

/** The body of POST /v1/stimuli (H22). */
export const StimulusBody = z.strictObject({
  source: z.string().min(1).max(MAX_NAME_CHARS).describe('`http_api` or a source name of your own.'),
  content: z.string().describe('Natural language or a JSON string.'),
  idempotency_key: z.string().min(1).max(1_024).optional().describe('A repeat within 24 hours is answered with 409.'),
});

export const StimulusAnswer = z.object({
  stimulus_id: z.string(),
  workflow_execution_id: z.string().describe('The workflow execution that was started.'),
});

export const WebhookAnswer = StimulusAnswer.extend({
  duplicate: z
    .literal(true)
    .optional()
    .describe('A repeat, of a source whose scheme is stripe or slack: the ids are those of the first delivery.'),
});

/** The answer to a refused repeat, with the ids of the first delivery. */
export const DuplicateProblem = z
  .object({
    error: z.literal('idempotent_duplicate'),
    message: z.string(),
    original_stimulus_id: z.string(),
    workflow_execution_id: z.string(),
  })
  .meta({ id: 'DuplicateProblem' });

export const StimulusRecord = z
  .object({
    id: z.string(),
    source: z.string(),
    status: z.enum(['received', 'routed', 'rejected']),
    workflow_execution_id: z.string().nullable().describe('Null when it was rejected.'),
    reason: z.string().nullable().describe('Why it was rejected.'),
    received_at: z.string(),
  })
  .meta({ id: 'Stimulus' });
export const StimulusList = z.object({ stimuli: z.array(StimulusRecord), ...nextPageField });
export const StimulusIdParams = z.object({ id: uuid('invalid stimulus id') });

export const StimulusRoute = z
  .object({
    source: z.string().describe('Lower-case.'),
    workflow: z.string().describe('Name or UUID.'),
    origin: z.enum(['settings', 'stored']).describe('Whether it comes from the node’s settings or was set by a call.'),
  })
  .meta({ id: 'StimulusRoute' });
export const StimulusRouteList = z.object({ routes: z.array(StimulusRoute) });
export const SourceParams = z.object({ source: z.string().min(1).max(MAX_NAME_CHARS) });
export const StimulusRouteBody = z.strictObject({ workflow: z.string().min(1).max(MAX_NAME_CHARS) });
export const RemovedRoute = z.object({ source: z.string(), removed: z.literal(true) });
