import { z } from 'zod';
import { toolArguments } from '../../contract/arguments.ts';
import { defineContract } from '../../contract/define-contract.ts';
import { skipsJudge } from '../../contract/judge-defaults.ts';
import { force, manifestYaml } from '../fields.ts';
import { catalogStatus, labels } from '../results.ts';

const onNode = { runs: 'node' } as const;
const reading = { ...onNode, mode: 'repeatable', reads: true } as const;
const changing = { ...onNode, mode: 'once', reads: false } as const;

export const agentCreate = defineContract({
  ...changing,
  name: 'svc.agent.create',
  description: 'Deploys an agent from its manifest. The same name and version again needs force.',
  input: toolArguments({ manifest_yaml: manifestYaml, force }),
  result: z.strictObject({ agent_id: z.string(), deployed: z.literal(true) }),
  skipJudge: skipsJudge('svc.agent.create'),
});

export const agentList = defineContract({
  ...reading,
  name: 'svc.agent.list',
  description: 'Lists the deployed agents by name, each in its newest version.',
  input: toolArguments({}),
  result: z.strictObject({
    agents: z.array(
      z.strictObject({ id: z.string(), name: z.string(), version: z.string(), status: catalogStatus, labels }),
    ),
  }),
  skipJudge: skipsJudge('svc.agent.list'),
});

export const AGENT_CONTRACTS = [agentCreate, agentList] as const;
