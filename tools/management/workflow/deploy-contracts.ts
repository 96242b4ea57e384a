import { z } from 'zod';
import {
  anyObject,
  catalogScope,
  catalogStatus,
  force,
  forceDelete,
  labels,
  manifestYaml,
  nameOrUuid,
  systemText,
  TEXT_CHARS,
  tenantId,
  time,
} from '../../../usecases/fields.ts';
import { changing, defineContract, reading, toolArguments } from '../../contract/arguments.ts';
import { searchArguments, searchResult } from '../search-contract.ts';

const CODE_QUALITY_JUDGE = 'code-quality-judge';

const MAX_JUDGES = 20;

const fraction = z.number().min(0).max(1);

/** Arguments that control the judges of svc.workflow.create (W35). */
const judgeArguments = {
  task_context: z.string().max(TEXT_CHARS).optional().describe('What the workflow is for; judges read it.'),
  judge_agents: z
    .array(nameOrUuid('a judge'))
    .min(1)
    .max(MAX_JUDGES)
    .default([CODE_QUALITY_JUDGE])
    .describe('Agents that act as judges.'),
  min_score: fraction.default(0.8).describe('Minimum score of each judge.'),
  min_confidence: fraction.default(0.7).describe('Minimum confidence of each judge.'),
};

export const validationResults = z.array(
  z.strictObject({
    agent_id: z.string(),
    score: fraction,
    confidence: fraction,
    reasoning: z.string(),
    passed: z.boolean(),
  }),
);

const workflow = nameOrUuid('the workflow');

const userId = systemText(256).min(1).optional();

const findings = z.array(anyObject);

export const workflowCreate = defineContract({
  ...changing,
  name: 'svc.workflow.create',
  description: 'Checks a workflow manifest, has judges look at it, and deploys it when none refuses.',
  input: toolArguments({ manifest_yaml: manifestYaml, force, ...judgeArguments }),
  result: z.strictObject({
    workflow_id: z.string(),
    deployed: z.literal(true),
    validation_results: validationResults,
    warnings: findings,
  }),
});

export const workflowUpdate = defineContract({
  ...changing,
  name: 'svc.workflow.update',
  description: 'Deploys a new version of a workflow that is there; the same version again needs force.',
  input: toolArguments({ manifest_yaml: manifestYaml, force }),
  result: z.strictObject({ workflow_id: z.string(), updated: z.literal(true), warnings: findings }),
});

export const workflowValidate = defineContract({
  ...reading,
  name: 'svc.workflow.validate',
  description: 'Checks a workflow manifest without deploying it: errors refuse a deploy, warnings do not.',
  input: toolArguments({ manifest_yaml: manifestYaml }),
  result: z.strictObject({
    valid: z.boolean(),
    findings,
    metadata: z.strictObject({ name: z.string(), version: z.string(), initial_state: z.string() }).optional(),
  }),
});

export const workflowExport = defineContract({
  ...reading,
  name: 'svc.workflow.export',
  description: 'Answers the manifest of a workflow as it was deployed, and what the catalog says of it.',
  input: toolArguments({ name: workflow }),
  result: z.strictObject({
    manifest_yaml: z.string(),
    metadata: z.strictObject({
      workflow_id: z.string(),
      name: z.string(),
      version: z.string(),
      description: z.string(),
      initial_state: z.string(),
      status: catalogStatus,
      scope: catalogScope,
      owner: z.string().nullable(),
      labels,
      deployed_at: time,
    }),
  }),
});

export const workflowDelete = defineContract({
  ...changing,
  name: 'svc.workflow.delete',
  description: 'Deletes a workflow with all its versions, for good. Refused while executions of it run, unless forced.',
  input: toolArguments({ name: workflow, force: forceDelete }),
  result: z.strictObject({ workflow_id: z.string(), deleted: z.literal(true) }),
});

export const workflowList = defineContract({
  ...reading,
  name: 'svc.workflow.list',
  description: "Lists the deployed workflows by name: the tenant's, with scope global or visible those of all too.",
  input: toolArguments({
    tenant_id: tenantId,
    scope: z.enum(['global', 'visible']).optional().describe("Default: all of the tenant's."),
    user_id: userId.describe('User whose view is listed with scope visible; default: the caller.'),
  }),
  result: z.strictObject({
    workflows: z.array(
      z.strictObject({ id: z.string(), name: z.string(), version: z.string(), initial_state: z.string() }),
    ),
  }),
});

export const workflowSearch = defineContract({
  ...reading,
  name: 'svc.workflow.search',
  description: 'Finds workflows by what they do, best first.',
  input: toolArguments(searchArguments),
  result: searchResult('svc.workflow.search'),
});

const moved = { workflow_id: z.string(), name: z.string() };

export const workflowPromote = defineContract({
  ...changing,
  name: 'svc.workflow.promote',
  description: 'Widens who sees a workflow: from a user to the tenant, from the tenant to all.',
  input: toolArguments({
    name: workflow,
    target_scope: z.enum(['tenant', 'global']).default('global'),
    tenant_id: tenantId,
  }),
  result: z.strictObject({ ...moved, promoted: z.literal(true), target_scope: z.enum(['tenant', 'global']) }),
});

export const workflowDemote = defineContract({
  ...changing,
  name: 'svc.workflow.demote',
  description: 'Narrows who sees a workflow: from all to the tenant, from the tenant to a user.',
  input: toolArguments({
    name: workflow,
    target_scope: z.enum(['tenant', 'user']).default('tenant'),
    user_id: userId.describe('Owner, for scope user; default: the caller.'),
    tenant_id: tenantId,
  }),
  result: z.strictObject({ ...moved, demoted: z.literal(true), target_scope: z.enum(['tenant', 'user']) }),
});

export const WORKFLOW_DEPLOY_CONTRACTS = [
  ...[workflowCreate, workflowUpdate, workflowValidate, workflowExport, workflowDelete, workflowList],
  ...[workflowSearch, workflowPromote, workflowDemote],
] as const;
