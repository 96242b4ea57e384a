import { z } from 'zod';
import { IntentStatus } from '../../../../tools/management/execute/answers.ts';
import type { IntentApi } from '../../../../tools/management/execute/intents.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders, ExecutionId } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';

const schema = {
  tags: ['execute'],
  summary: 'Show how a pipeline execution stands',
  description: 'Running, completed with its result, or failed with the reason and the state that failed.',
  headers: CallerHeaders,
  params: z.object({ id: ExecutionId }),
  response: { 200: IntentStatus, ...problemSchemas({ style: 'coded', also: [404] }) },
};
const config = { access: 'read', problems: 'coded', texts: { notFound: 'pipeline execution not found' } } as const;

/** GET /v1/execute/{id}: svc.execute.status (spec 3). */
export function getPipelineRoute(app: RestApp, intents: IntentApi): void {
  app.get('/v1/execute/:id', { config, schema }, (request) =>
    intents.status(callerOf(request), request.params.id.toLowerCase()),
  );
}
