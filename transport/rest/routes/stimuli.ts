import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import { StimulusAnswer, StimulusBody } from '../../../usecases/operations/schemas/stimuli.ts';
import type { StimulusApi } from '../../../usecases/stimuli.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf, hasBegun } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { answerStimulusError, duplicateSchema, ingestWebhookRoute } from './webhooks.ts';

/** Adds the routes under /v1/stimuli and /v1/webhooks that this node has the parts for. */
export function stimulusRoutes(app: RestApp, { stimuli, webhooks, limits }: RestParts): void {
  if (stimuli === undefined) return;
  ingestStimulusRoute(app, stimuli);
  if (webhooks !== undefined) ingestWebhookRoute(app, { stimuli, webhooks, limits });
}

const ingestStimulusSchema = {
  operationId: 'stimuli.ingest',
  tags: ['stimuli'],
  summary: 'Route a stimulus to a workflow and start it',
  description: 'Answers when the workflow execution is durably started.',
  headers: CallerHeaders,
  body: StimulusBody,
  response: {
    200: StimulusAnswer,
    ...problemSchemas({ style: 'coded', hasBody: true, also: [422] }),
    ...duplicateSchema,
  },
};

/** POST /v1/stimuli (H22). */
function ingestStimulusRoute(app: RestApp, stimuli: StimulusApi): void {
  const options = {
    config: { access: 'run' as const },
    schema: ingestStimulusSchema,
    errorHandler: answerStimulusError,
  };
  app.post('/v1/stimuli', options, async (request) => {
    const { source, content, idempotency_key: key } = request.body;
    const { trace } = request;
    return stimuli.ingest(
      {
        source,
        content,
        headers: {},
        identity: callerOf(request),
        ...(key === undefined ? {} : { idempotencyKey: key }),
      },
      { trace, onBegun: () => hasBegun(request) },
    );
  });
}
