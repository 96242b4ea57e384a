import { IdempotencyKey } from '../../../idempotency.ts';
import { startWorkflow } from '../../../start-workflow.ts';
import type { RestApp } from '../../parts.ts';
import { callerOf } from '../../request-context.ts';
import { CallerHeaders } from '../../schemas/fields.ts';
import { problemSchemas } from '../../schemas/problems.ts';
import { RunAnswer, RunBody, WorkflowParams } from '../../schemas/workflows.ts';
import { type WorkflowRouteParts, workflowRoute } from './parts.ts';

const schema = {
  tags: ['workflows'],
  summary: 'Run a workflow',
  description:
    'Answers as soon as the start is durable; follow it at /v1/workflows/executions/{id}/stream. An input that does not ' +
    'fit `metadata.input_schema` is 422 and creates nothing.',
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  params: WorkflowParams,
  body: RunBody,
  response: { 200: RunAnswer, ...problemSchemas({ style: 'coded', hasBody: true, also: [404, 409, 422] }) },
};

/** POST /v1/workflows/{name}/run: svc.workflow.run (spec 3). */
export function runWorkflowRoute(app: RestApp, parts: WorkflowRouteParts): void {
  app.post('/v1/workflows/:name/run', { config: workflowRoute('run'), schema }, async (request) => {
    const { intent, input, blackboard, version } = request.body;
    const key = request.headers['idempotency-key'];
    const call = {
      workflow: request.params.name,
      input,
      ...(intent === undefined ? {} : { intent }),
      ...(blackboard === undefined ? {} : { blackboard }),
      ...(version === undefined ? {} : { version }),
    };
    const { execution_id } = await startWorkflow(parts, call, {
      identity: callerOf(request),
      trace: request.trace,
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    return { execution_id, status: 'started' as const };
  });
}
