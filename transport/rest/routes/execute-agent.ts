import { taskInput } from '../../../tools/management/task/task-input.ts';
import { IdempotencyKey } from '../../idempotency.ts';
import { startExecution } from '../../start-execution.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { ExecuteAnswer, ExecuteBody } from '../schemas/agents.ts';
import { AgentIdParams, CallerHeaders } from '../schemas/fields.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { agentRoute } from '../schemas/route-config.ts';

const schema = {
  tags: ['agents'],
  summary: 'Start an execution of an agent from a goal and values',
  description: 'Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream.',
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  params: AgentIdParams,
  body: ExecuteBody,
  response: { 200: ExecuteAnswer, ...problemSchemas({ style: 'plain', hasBody: true, also: [404, 409, 422] }) },
};
const config = { ...agentRoute('run'), texts: { notFound: 'agent not found', bug: 'execution failed to start' } };

/** POST /v1/agents/{id}/execute: svc.task.execute (spec 3). */
export function executeAgentRoute(app: RestApp, parts: RestParts): void {
  app.post('/v1/agents/:id/execute', { config, schema }, async (request) => {
    const { intent, input, version } = request.body;
    const key = request.headers['idempotency-key'];
    const call = {
      agent: request.params.id.toLowerCase(),
      ...taskInput(intent, input),
      ...(version === undefined ? {} : { version }),
    };
    const { execution_id } = await startExecution(parts, call, {
      identity: callerOf(request),
      trace: request.trace,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    return { execution_id, status: 'started' as const };
  });
}
