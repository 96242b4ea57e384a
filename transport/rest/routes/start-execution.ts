import { IdempotencyKey } from '../../idempotency.ts';
import { startExecution } from '../../start-execution.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { StartAnswer, StartBody } from '../schemas/executions.ts';
import { CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['executions'],
  summary: 'Start an execution',
  description: 'Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream.',
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  body: StartBody,
  response: { 200: StartAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409, 422] }) },
};
const config = { ...agentRoute('run'), texts: { notFound: 'agent not found', bug: 'execution failed to start' } };

/** POST /v1/executions (spec 2). */
export function startExecutionRoute(app: RestApp, parts: RestParts): void {
  app.post('/v1/executions', { config, schema }, async (request) => {
    const { agent_id, input, version, context } = request.body;
    const key = request.headers['idempotency-key'];
    const call = {
      agent: agent_id.toLowerCase(),
      input,
      ...(version === undefined ? {} : { version }),
      ...(context === undefined ? {} : { context }),
    };
    return startExecution(parts, call, {
      identity: callerOf(request),
      trace: request.trace,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
  });
}
