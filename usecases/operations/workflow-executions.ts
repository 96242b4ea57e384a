import { z } from 'zod';
import type { WorkflowCatalog } from '../../catalog/api.ts';
import type { Identity } from '../../runtime/identity.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';
import { RUN_OUTCOMES } from '../runs/run.ts';
import { Why } from '../why/links.ts';
import { WORKFLOW_STATUSES } from '../workflow-status.ts';
import { operation } from './operation.ts';
import { CancelAnswer, RemoveAnswer } from './schemas/executions.ts';
import { pageAsked } from './schemas/fields.ts';
import { logFields, logPage } from './schemas/paging.ts';
import {
  SignalAnswer,
  SignalBody,
  WorkflowExecution,
  WorkflowExecutionList,
  WorkflowExecutionParams,
  WorkflowLog,
} from './schemas/workflows.ts';

const MOST_LISTED = 1_000;

const MOST_LOGS = 200;

const path = '/v1/workflows/executions';

const texts = { notFound: 'workflow execution not found' };

const common = { tag: 'workflows', needs: ['workflows'] } as const;

/** The id of a workflow. An id that is no longer deployed is accepted, since executions outlive their workflow. */
async function idOf(catalog: WorkflowCatalog, { tenant, subject }: Identity, idOrName: string): Promise<string> {
  return (await foundOrNull(catalog.get({ tenant, subject }, idOrName)))?.id ?? idOrName.toLowerCase();
}

/** Operations on runs of workflows (W35). REST serves the live event streams by itself. */
export const WORKFLOW_EXECUTION_OPERATIONS = [
  operation({
    ...common,
    name: 'workflow_executions.list',
    summary: 'List workflow executions, newest first',
    access: 'read',
    input: {
      query: z.object({
        workflow_id: z.string().min(1).max(256).optional().describe('UUID or name of the workflow.'),
        status: z.enum(WORKFLOW_STATUSES).optional(),
        outcome: z
          .enum(RUN_OUTCOMES)
          .optional()
          .describe('How it ended; `failed` includes those whose last state failed.'),
        ...logFields(20, MOST_LISTED),
      }),
    },
    answer: WorkflowExecutionList,
    rest: { method: 'GET', path, style: 'coded', texts },
    tool: 'svc.workflow.executions.list',
    commands: ['workflow executions list'],
    async handle({ workflows: { catalog, workflows } }, { identity, query }) {
      const { workflow_id, status, outcome, limit, skip, page_token } = query;
      const offset = query.offset === 0 ? skip : query.offset;
      const page = pageAsked({ limit, skip: offset, page_token }, MOST_LISTED);
      const workflowId = workflow_id === undefined ? undefined : await idOf(catalog, identity, workflow_id);
      const { items, total, ...next } = await workflows.list(identity, { ...page, workflowId, status, outcome });
      return { executions: items, total, limit: page.limit, offset, ...next };
    },
  }),
  operation({
    ...common,
    name: 'workflow_executions.get',
    summary: 'Show a workflow execution, and what it waits for',
    access: 'read',
    input: { params: WorkflowExecutionParams },
    answer: WorkflowExecution,
    rest: { method: 'GET', path: `${path}/:id`, style: 'coded', texts, also: [404] },
    tool: 'svc.workflow.executions.get',
    commands: ['workflow executions get', 'workflow status'],
    handle: ({ workflows: { workflows } }, { identity, params }) => workflows.get(identity, params.id),
  }),
  operation({
    ...common,
    needs: ['why'],
    name: 'workflow_executions.why',
    summary: 'Say why a workflow execution waits, or why it ended so',
    description:
      'The chain of causes, ending with the last cause, as links and as one sentence (docs/reference/why.md). For an ended run: why it ended so.',
    access: 'read',
    input: { params: WorkflowExecutionParams },
    answer: Why,
    rest: { method: 'GET', path: `${path}/:id/why`, style: 'coded', texts, also: [404] },
    tool: 'svc.trace.why',
    commands: ['why'],
    handle: ({ why }, { identity, params }) => why.workflow(identity, params.id),
  }),
  operation({
    ...common,
    name: 'workflow_executions.list_logs',
    summary: 'Page through the log of a workflow execution, oldest first',
    access: 'read',
    input: {
      params: WorkflowExecutionParams,
      query: z.object(logFields(50, MOST_LOGS)),
    },
    answer: WorkflowLog,
    rest: { method: 'GET', path: `${path}/:id/logs`, style: 'coded', texts, also: [404] },
    tool: 'svc.workflow.logs',
    commands: ['workflow logs'],
    async handle({ workflows: { workflows } }, { identity, params, query }) {
      const log = await logPage(query, { most: MOST_LOGS, of: `workflow execution ${params.id}` }, (page) =>
        workflows.logs(identity, params.id, page),
      );
      return { execution_id: params.id, ...log };
    },
  }),
  operation({
    ...common,
    name: 'workflow_executions.signal',
    summary: 'Answer the approval a workflow execution waits for',
    description: 'One that waits for no approval is 409 (H20).',
    access: 'run',
    input: { params: WorkflowExecutionParams, body: SignalBody },
    answer: SignalAnswer,
    rest: { method: 'POST', path: `${path}/:id/signal`, style: 'coded', texts, also: [404, 409] },
    tool: 'svc.workflow.signal',
    commands: ['workflow signal'],
    async handle({ workflows: { workflows } }, { identity, params, body, trace }) {
      await workflows.signal(identity, params.id, body.response, { trace });
      return { signalled: true as const, execution_id: params.id };
    },
  }),
  operation({
    ...common,
    name: 'workflow_executions.cancel',
    summary: 'Cancel a workflow execution with its children',
    description: 'One that has ended is 409.',
    access: 'run',
    input: { params: WorkflowExecutionParams },
    answer: CancelAnswer,
    rest: { method: 'POST', path: `${path}/:id/cancel`, style: 'coded', texts, also: [404, 409] },
    tool: 'svc.workflow.cancel',
    commands: ['workflow cancel'],
    async handle({ workflows: { workflows } }, { identity, params, trace }) {
      await workflows.cancel(identity, params.id, { trace });
      return { execution_id: params.id, cancelled: true as const };
    },
  }),
  operation({
    ...common,
    name: 'workflow_executions.remove',
    summary: 'Remove a workflow execution that has ended',
    description: 'While it runs it is 409.',
    access: 'write',
    input: { params: WorkflowExecutionParams },
    answer: RemoveAnswer,
    rest: { method: 'DELETE', path: `${path}/:id`, style: 'coded', texts, also: [404, 409] },
    tool: 'svc.workflow.remove',
    commands: ['workflow remove'],
    async handle({ workflows: { workflows } }, { identity, params }) {
      await workflows.remove(identity, params.id);
      return { execution_id: params.id, removed: true as const };
    },
  }),
];
