import { z } from 'zod';
import { CATALOG_STATUSES, SCOPES } from './catalog.ts';

/** Agent summary of spec 2, with what a list of agents needs besides. */
export const AgentSummary = z.object({
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
});

export const AgentList = z.object({ agents: z.array(AgentSummary) });

export const DeployedAgent = AgentSummary.extend({
  manifest: z.unknown().describe('The manifest, checked and with its defaults.'),
  manifest_yaml: z.string().describe('The manifest as deployed.'),
});

export const DeployBody = z.object({
  manifest_yaml: z.string().min(1),
  force: z.boolean().default(false).describe('Overwrites the same name and version.'),
});

export const DeployAnswer = z.object({ agent_id: z.string(), deployed: z.literal(true) });

export const AgentLogs = z.object({
  agent_id: z.string(),
  events: z.array(
    z.object({
      sequence: z.number().int(),
      event_type: z.string(),
      payload: z.record(z.string(), z.unknown()),
      recorded_at: z.string(),
    }),
  ),
  total: z.number().int(),
  limit: z.number().int(),
  offset: z.number().int(),
});
