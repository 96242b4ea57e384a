import type { ExecutionApi, StartExecution } from '../../../actors/execution/api.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { executionIdFor, IdempotencyKey } from '../idempotency.ts';
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

/** The execution a key already started, if it did. Throws `conflict` when that was for another agent. */
async function startedBefore(executions: ExecutionApi, start: StartExecution): Promise<boolean> {
  try {
    const { agent_id } = await executions.status(start.identity.tenant, start.executionId);
    if (agent_id === start.agentId) return true;
  } catch (error) {
    if (error instanceof SvcError && error.code === 'not_found') return false;
    throw error;
  }
  throw new SvcError('conflict', 'Idempotency-Key: it was used to start an execution of another agent');
}

/** Starts it, or finds it started by an earlier or simultaneous call with the same key. */
async function startOnce(executions: ExecutionApi, start: StartExecution, trace: string, key: string | undefined) {
  const started = { execution_id: start.executionId };
  if (key === undefined) return executions.start(start, { trace });
  if (await startedBefore(executions, start)) return started;
  try {
    // The message has the id of the execution, so the mailbox drops a repeat as well.
    return await executions.start(start, { trace, messageId: start.executionId });
  } catch (error) {
    if (error instanceof SvcError && error.code === 'conflict' && (await startedBefore(executions, start)))
      return started;
    throw error;
  }
}

/** POST /v1/executions (spec 2). */
export function startExecutionRoute(app: RestApp, { agents, executions }: RestParts): void {
  app.post('/v1/executions', { config, schema }, async (request) => {
    const identity = callerOf(request);
    const { agent_id, input, version, context } = request.body;
    const agent = await agents.get(identity.tenant, agent_id.toLowerCase(), version);
    const key = request.headers['idempotency-key'];
    const start: StartExecution = {
      executionId: executionIdFor(identity.tenant, key),
      agentId: agent.agent_id,
      manifest: agent.manifest,
      input,
      identity,
      ...(context === undefined ? {} : { context }),
    };
    const { execution_id } = await startOnce(executions, start, request.trace, key);
    return { execution_id };
  });
}
