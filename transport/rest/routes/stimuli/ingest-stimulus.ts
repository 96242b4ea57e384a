import type { StimulusApi } from '../../../../actors/stimulus/api.ts';
import { hasBegun } from '../../admit-starts.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { StimulusAnswer, StimulusBody } from '../../schemas/stimuli.ts';
import { answerStimulusError, duplicateSchema } from './duplicate-answer.ts';

const schema = {
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

/** POST /v1/stimuli (spec 2). */
export function ingestStimulusRoute(app: RestApp, stimuli: StimulusApi): void {
  const options = { config: { access: 'run' as const }, schema, errorHandler: answerStimulusError };
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
