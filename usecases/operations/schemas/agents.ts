import { z } from 'zod';
import { CATALOG_STATUSES, LoggedEvent, logPage, ScopeAnswer as MovedAnswer, SCOPES } from './catalog.ts';
import { labelsField } from './executions.ts';
import { jsonObject, nextPageField, versionField } from './fields.ts';
import { Finding } from './workflows.ts';

/** The summary of an agent (H10), with the other fields of the list of agents. */
export const AgentSummary = z
  .object({
    agent_id: z.string().describe('Agent UUID; all versions of a name share it.'),
    name: z.string(),
    tenant_id: z.string(),
    version: z.string(),
    description: z.string(),
    status: z.enum(CATALOG_STATUSES),
    scope: z.enum(SCOPES),
    owner: z.string().nullable().describe('Subject, for scope user.'),
    labels: z.record(z.string(), z.string()),
    deployed_at: z.string(),
  })
  .meta({ id: 'Agent' });

export const AgentList = z.object({ agents: z.array(AgentSummary), ...nextPageField });

export const DeployedAgent = AgentSummary.extend({
  manifest: z.unknown().describe('The manifest, checked and with its defaults.'),
  manifest_yaml: z.string().describe('The manifest as deployed.'),
}).meta({ id: 'DeployedAgent' });

export const DeployAnswer = z.object({
  agent_id: z.string(),
  deployed: z.literal(true),
  warnings: z.array(Finding).optional().describe('Warnings about its language and version, if any.'),
});

export const ValidateAnswer = z.object({
  valid: z.boolean(),
  findings: z.array(Finding).readonly(),
  metadata: z.object({ name: z.string(), version: z.string() }).optional().describe('When it is valid.'),
});

export const ScopeAnswer = MovedAnswer.extend({ agent_id: z.string() });

/** The arguments of svc.task.execute (W36) without the agent. */
export const ExecuteBody = z.strictObject({
  intent: z.string().max(65_536).optional().describe('The goal; part of the input, and {{intent}}.'),
  input: jsonObject.default({}).describe('Values by name: {{KEY}} in the prompt; as JSON part of the input.'),
  version: versionField('agent'),
  labels: labelsField,
});

export const AgentLogs = z.object({
  agent_id: z.string(),
  events: z.array(LoggedEvent),
  ...logPage,
});
