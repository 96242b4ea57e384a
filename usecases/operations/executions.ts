import { z } from 'zod';
import { startExecution } from '../starts/start-execution.ts';
import { IdempotencyKey } from '../starts/start-keys.ts';
import { Why } from '../why/links.ts';
import { agentNamed } from './agent-named.ts';
import { operation } from './operation.ts';
import {
  CancelAnswer,
  EXECUTION_STATUSES,
  ExecutionList,
  ExecutionLog,
  ExecutionStatus,
  RemoveAnswer,
  StartAnswer,
  StartBody,
} from './schemas/executions.ts';
import { AgentId, CallerHeaders, ExecutionIdParams, pageAsked, pageFields } from './schemas/fields.ts';
import { logFields, logPage } from './schemas/paging.ts';

const MOST_LISTED = 1_000;

const MOST_EVENTS = 200;

const common = { tag: 'executions', needs: ['executions'] } as const;

const texts = { notFound: 'execution not found' };

/** Operations on runs of agents. REST and gRPC serve the live event streams by themselves. */
export const EXECUTION_OPERATIONS = [
  operation({
    tag: 'executions',
    needs: ['agents', 'executions'],
    name: 'executions.start',
    summary: 'Start an execution',
    description: 'Answers as soon as the start is durable; follow it at /v1/executions/{id}/stream.',
    access: 'run',
    input: { headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }), body: StartBody },
    answer: StartAnswer,
    rest: {
      method: 'POST',
      path: '/v1/executions',
      style: 'plain',
      texts: { notFound: 'agent not found', bug: 'execution failed to start' },
      starts: true,
      also: [404, 409],
    },
    tool: 'svc.task.execute',
    commands: ['task execute'],
    grpc: 'ExecuteAgent',
    async handle(ports, { identity, trace, headers, body }) {
      const { agent_id, workflow_execution_id: workflowExecutionId, ...rest } = body;
      const agent = await agentNamed(ports.agents, identity, agent_id);
      const call = { ...rest, agent, workflowExecutionId };
      return startExecution(ports, call, { identity, trace, idempotencyKey: headers['idempotency-key'] });
    },
  }),
  operation({
    ...common,
    needs: ['agents', 'executions'],
    name: 'executions.list',
    summary: 'List executions, newest first',
    access: 'read',
    input: {
      query: z.object({
        agent_id: AgentId.optional(),
        status: z.enum(EXECUTION_STATUSES).optional(),
        workflow_execution_id: z
          .guid('expected a UUID')
          .toLowerCase()
          .optional()
          .describe('Only those that belong to this workflow execution.'),
        ...pageFields(20, MOST_LISTED),
      }),
    },
    answer: ExecutionList,
    rest: { method: 'GET', path: '/v1/executions', style: 'plain', texts },
    tool: 'svc.task.list',
    commands: ['task list'],
    async handle({ agents, executions }, { identity, query: { agent_id, status, workflow_execution_id, ...page } }) {
      const filter = {
        ...pageAsked(page, MOST_LISTED),
        agentId: agent_id === undefined ? undefined : await agentNamed(agents, identity, agent_id),
        status,
        workflowExecutionId: workflow_execution_id,
      };
      const { items, ...next } = await executions.list(identity, filter);
      return { executions: items, ...next };
    },
  }),
  operation({
    ...common,
    name: 'executions.get',
    summary: 'Show the state of an execution',
    access: 'read',
    input: { params: ExecutionIdParams },
    answer: ExecutionStatus,
    rest: { method: 'GET', path: '/v1/executions/:id', style: 'plain', texts, also: [404] },
    tool: 'svc.task.status',
    commands: ['task status'],
    handle: ({ executions }, { identity, params }) => executions.status(identity, params.id),
  }),
  operation({
    ...common,
    needs: ['why'],
    name: 'executions.why',
    summary: 'Say why an execution waits, or why it ended so',
    description:
      'The chain of causes, ending with the last cause, as links and as one sentence (docs/reference/why.md). For an ended run: why it ended so.',
    access: 'read',
    input: { params: ExecutionIdParams },
    answer: Why,
    rest: { method: 'GET', path: '/v1/executions/:id/why', style: 'plain', texts, also: [404] },
    tool: 'svc.trace.why',
    commands: ['why'],
    handle: ({ why }, { identity, params }) => why.execution(identity, params.id),
  }),
  operation({
    ...common,
    name: 'executions.list_events',
    summary: 'Page through the log of an execution, oldest first',
    access: 'read',
    input: {
      params: ExecutionIdParams,
      query: z.object(logFields(50, MOST_EVENTS)),
    },
    answer: ExecutionLog,
    rest: { method: 'GET', path: '/v1/executions/:id/events', style: 'plain', texts, also: [404] },
    tool: 'svc.task.logs',
    commands: ['task logs'],
    async handle({ executions }, { identity, params, query }) {
      const log = await logPage(query, { most: MOST_EVENTS, of: `execution ${params.id}` }, (page) =>
        executions.logs(identity, params.id, page),
      );
      return { execution_id: params.id, ...log, events: log.events.map((event) => ({ ...event })) };
    },
  }),
  operation({
    ...common,
    name: 'executions.cancel',
    summary: 'Cancel a running execution',
    description: 'An execution that has ended is 409.',
    access: 'run',
    input: { params: ExecutionIdParams },
    answer: CancelAnswer,
    rest: { method: 'POST', path: '/v1/executions/:id/cancel', style: 'plain', texts, also: [404, 409] },
    tool: 'svc.task.cancel',
    commands: ['task cancel'],
    async handle({ executions }, { identity, trace, params }) {
      await executions.cancel(identity, params.id, { identity, trace });
      return { execution_id: params.id, cancelled: true as const };
    },
  }),
  operation({
    ...common,
    name: 'executions.remove',
    summary: 'Remove an execution that has ended',
    description: 'While it runs it is 409.',
    access: 'write',
    input: { params: ExecutionIdParams },
    answer: RemoveAnswer,
    rest: { method: 'DELETE', path: '/v1/executions/:id', style: 'plain', texts, also: [404, 409] },
    tool: 'svc.task.remove',
    commands: ['task remove'],
    async handle({ executions }, { identity, params }) {
      await executions.remove(identity, params.id);
      return { execution_id: params.id, removed: true as const };
    },
  }),
];
