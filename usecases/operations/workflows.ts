import { z } from 'zod';
import type { Identity } from '../../runtime/identity.ts';
import { IdempotencyKey } from '../starts/start-keys.ts';
import { startWorkflow } from '../starts/start-workflow.ts';
import { changeScope } from './agents.ts';
import { operation } from './operation.ts';
import {
  DeleteQuery,
  isSet,
  ListQuery,
  listFilter,
  resultsOf,
  ScopeBody,
  SearchQuery,
  SearchResults,
  StatusBody,
  searchOf,
} from './schemas/catalog.ts';
import { RunStarted } from './schemas/executions.ts';
import { CallerHeaders, VersionQuery } from './schemas/fields.ts';
import {
  DeployedWorkflow,
  RunBody,
  ScopeAnswer,
  WorkflowList,
  WorkflowParams,
  WorkflowSummary,
  WorkflowVersions,
} from './schemas/workflows.ts';

const readerOf = ({ tenant, subject }: Identity) => ({ tenant, subject });

const common = { tag: 'workflows', needs: ['workflows'] } as const;

/**
 * Operations on deployed workflows. Deploy, validation and export are routes of REST alone, since the first two accept
 * YAML and an export answers with it.
 */
export const WORKFLOW_OPERATIONS = [
  operation({
    ...common,
    name: 'workflows.list',
    summary: 'List workflows',
    description: 'The latest version of each workflow, by name.',
    access: 'read',
    input: { query: ListQuery },
    answer: WorkflowList,
    rest: { method: 'GET', path: '/v1/workflows', style: 'coded' },
    tool: 'svc.workflow.list',
    commands: ['workflow list'],
    async handle({ workflows: { catalog } }, { identity, query }) {
      const { items, ...next } = await catalog.list(identity, listFilter(query));
      return { workflows: items, ...next };
    },
  }),
  operation({
    tag: 'workflows',
    needs: ['workflows', 'search'],
    name: 'workflows.search',
    summary: 'Search workflows',
    description: 'Workflows the caller sees, by what they do; best first.',
    access: 'read',
    input: { query: SearchQuery },
    answer: SearchResults,
    rest: { method: 'GET', path: '/v1/workflows/search', style: 'coded', also: [409] },
    tool: 'svc.workflow.search',
    commands: ['workflow search'],
    handle: async ({ search }, { identity, query }) =>
      resultsOf(query.q, await search.workflows(readerOf(identity), searchOf(query))),
  }),
  operation({
    ...common,
    name: 'workflows.get',
    summary: 'Show a workflow with its manifest',
    access: 'read',
    input: {
      params: WorkflowParams,
      query: VersionQuery,
    },
    answer: DeployedWorkflow,
    rest: { method: 'GET', path: '/v1/workflows/:name', style: 'coded', also: [404] },
    commands: ['workflow show', 'diff'],
    handle: ({ workflows: { catalog } }, { identity, params, query }) =>
      catalog.get(readerOf(identity), params.name, query.version),
  }),
  operation({
    ...common,
    name: 'workflows.list_versions',
    summary: 'List the versions of a workflow',
    access: 'read',
    input: { params: WorkflowParams },
    answer: WorkflowVersions,
    rest: { method: 'GET', path: '/v1/workflows/:name/versions', style: 'coded', also: [404] },
    commands: ['workflow versions'],
    handle: async ({ workflows: { catalog } }, { identity, params }) => ({
      versions: await catalog.versions(readerOf(identity), params.name),
    }),
  }),
  operation({
    ...common,
    name: 'workflows.set_status',
    summary: 'Pause or archive a workflow, or put it back into service',
    description: 'Running executions continue. Versions that are deployed later get the same status.',
    access: 'write',
    input: { params: WorkflowParams, body: StatusBody },
    answer: WorkflowSummary,
    rest: { method: 'PATCH', path: '/v1/workflows/:name', style: 'coded', also: [404, 409] },
    commands: ['workflow pause', 'workflow resume', 'workflow archive'],
    handle: ({ workflows: { catalog } }, { identity, params, body }) =>
      catalog.setStatus(identity, params.name, body.status),
  }),
  operation({
    ...common,
    name: 'workflows.change_scope',
    summary: 'Promote or demote a workflow',
    description: 'Promote: user to tenant, tenant to global. Demote: global to tenant, tenant to user.',
    access: 'write',
    input: { params: WorkflowParams, body: ScopeBody },
    answer: ScopeAnswer,
    rest: { method: 'POST', path: '/v1/workflows/:name/scope', style: 'coded', also: [404, 409] },
    commands: ['workflow promote', 'workflow demote'],
    async handle({ workflows: { catalog } }, { identity, params, body }) {
      const { entry, done } = await changeScope(catalog, identity, params.name, body);
      return { workflow_id: entry.id, name: entry.name, ...done };
    },
  }),
  operation({
    ...common,
    name: 'workflows.delete',
    summary: 'Delete a workflow with all its versions',
    description: 'Refused while executions of it run, unless forced: those keep their manifest and continue.',
    access: 'write',
    input: { params: WorkflowParams, query: DeleteQuery },
    answer: z.object({ workflow_id: z.string(), deleted: z.literal(true) }),
    rest: { method: 'DELETE', path: '/v1/workflows/:name', style: 'coded', also: [404, 409] },
    tool: 'svc.workflow.delete',
    commands: ['workflow delete'],
    async handle({ workflows: { catalog } }, { identity, params, query }) {
      const { workflow_id } = await catalog.delete(identity, params.name, { force: isSet(query.force) });
      return { workflow_id, deleted: true as const };
    },
  }),
  operation({
    ...common,
    name: 'workflows.run',
    summary: 'Run a workflow',
    description:
      'Answers as soon as the start is durable; follow it at /v1/workflows/executions/{id}/stream. An input that does not ' +
      'fit `metadata.input_schema` is 422 and creates nothing.',
    access: 'run',
    input: {
      headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
      params: WorkflowParams,
      body: RunBody,
    },
    answer: RunStarted,
    rest: { method: 'POST', path: '/v1/workflows/:name/run', style: 'coded', also: [404, 409, 422] },
    tool: 'svc.workflow.run',
    commands: ['workflow run'],
    async handle(ports, { identity, trace, headers, params, body: { intent, input, blackboard, labels, version } }) {
      const call = { workflow: params.name, input, intent, blackboard, labels, version };
      const caller = { identity, trace, idempotencyKey: headers['idempotency-key'] };
      const { execution_id } = await startWorkflow({ ...ports, ...ports.workflows }, call, caller);
      return { execution_id, status: 'started' as const };
    },
  }),
];
