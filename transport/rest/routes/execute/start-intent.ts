import { z } from 'zod';
import { IntentStarted } from '../../../../tools/management/execute/answers.ts';
import type { IntentApi } from '../../../../tools/management/execute/intents.ts';
import { intentRequest, promptRequest } from '../../../../tools/management/execute/request.ts';
import { IdempotencyKey, type StartKeys } from '../../../idempotency.ts';
import type { RestApp } from '../../parts.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { starterOf } from '../generate/starter.ts';

const shared = {
  tags: ['execute'],
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  response: { 200: IntentStarted, ...problemSchemas({ style: 'coded', hasBody: true, also: [403, 404, 409] }) },
};
const config = { access: 'run', problems: 'coded', texts: { notFound: 'volume not found' } } as const;

/** POST /v1/execute/intent (svc.execute.intent) and POST /v1/execute (svc.execute). */
export function startIntentRoutes(app: RestApp, intents: IntentApi, startKeys: StartKeys | undefined): void {
  const intent = {
    ...shared,
    summary: 'Reach a goal by a program',
    description:
      'An agent writes the program, a container without a network runs it. Answers as soon as the start is durable; read the ' +
      'result at /v1/execute/{id}, follow the run at `stream_url`.',
    body: z.strictObject(intentRequest),
  };
  app.post('/v1/execute/intent', { config, schema: intent }, async (request) =>
    intents.start(request.body, await starterOf(request, 'intent', startKeys)),
  );
  const prompt = {
    ...shared,
    summary: 'Reach a goal by a program, with defaults',
    description: 'POST /v1/execute/intent with nothing but the goal.',
    body: z.strictObject(promptRequest),
  };
  app.post('/v1/execute', { config, schema: prompt }, async (request) =>
    intents.start({ intent: request.body.prompt, language: 'python' }, await starterOf(request, 'intent', startKeys)),
  );
}
