import { z } from 'zod';
import {
  agentId,
  anyObject,
  catalogScope,
  catalogStatus,
  force,
  forceDelete,
  labels,
  limit,
  MAX_LOG_EVENTS,
  manifestYaml,
  nameOrUuid,
  offset,
  page,
  time,
} from '../../../usecases/fields.ts';
import { changing, defineContract, reading, toolArguments } from '../../contract/arguments.ts';
import { searchArguments, searchResult } from '../search-contract.ts';

export const agentCreate = defineContract({
  ...changing,
  name: 'svc.agent.create',
  description: 'Deploys an agent from its manifest. The same name and version again needs force.',
  input: toolArguments({ manifest_yaml: manifestYaml, force }),
  result: z.strictObject({ agent_id: z.string(), deployed: z.literal(true) }),
});

export const agentUpdate = defineContract({
  ...changing,
  name: 'svc.agent.update',
  description: 'Deploys a new version of an agent that is there; the same version again needs force.',
  input: toolArguments({ manifest_yaml: manifestYaml, force }),
  result: z.strictObject({ agent_id: z.string(), updated: z.literal(true) }),
});

export const agentExport = defineContract({
  ...reading,
  name: 'svc.agent.export',
  description: 'Answers the manifest of an agent as it was deployed, and what the catalog says of it.',
  input: toolArguments({ name: nameOrUuid('the agent') }),
  result: z.strictObject({
    manifest_yaml: z.string(),
    metadata: z.strictObject({
      agent_id: z.string(),
      name: z.string(),
      version: z.string(),
      description: z.string(),
      status: catalogStatus,
      scope: catalogScope,
      owner: z.string().nullable(),
      labels,
      deployed_at: time,
    }),
  }),
});

export const agentDelete = defineContract({
  ...changing,
  name: 'svc.agent.delete',
  description: 'Deletes an agent with all its versions, for good. Refused while executions of it run, unless forced.',
  input: toolArguments({ agent_id: agentId, force: forceDelete }),
  result: z.strictObject({ agent_id: z.string(), deleted: z.literal(true) }),
});

export const agentList = defineContract({
  ...reading,
  name: 'svc.agent.list',
  description: 'Lists the deployed agents by name, each in its latest version.',
  input: toolArguments({}),
  result: z.strictObject({
    agents: z.array(
      z.strictObject({ id: z.string(), name: z.string(), version: z.string(), status: catalogStatus, labels }),
    ),
  }),
});

export const agentSearch = defineContract({
  ...reading,
  name: 'svc.agent.search',
  description: 'Finds agents by what they do, best first.',
  input: toolArguments({
    ...searchArguments,
    status: z.string().max(64).optional().describe('Such as deployed or paused.'),
  }),
  result: searchResult('svc.agent.search'),
});

export const agentLogs = defineContract({
  ...reading,
  name: 'svc.agent.logs',
  description: 'Shows what happened to an agent and to its executions, newest first.',
  input: toolArguments({ agent_id: nameOrUuid('the agent'), limit: limit(50, MAX_LOG_EVENTS), offset }),
  result: z.strictObject({
    tool: z.literal('svc.agent.logs'),
    agent_id: z.string(),
    events: z.array(z.strictObject({ event_type: z.string(), payload: anyObject, recorded_at: time })),
    ...page,
  }),
});

export const AGENT_CONTRACTS = [
  ...[agentCreate, agentUpdate, agentExport, agentDelete, agentList, agentSearch, agentLogs],
] as const;
