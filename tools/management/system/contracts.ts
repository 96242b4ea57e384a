import { z } from 'zod';
import { toolArguments } from '../../contract/arguments.ts';
import { defineContract } from '../../contract/define-contract.ts';
import { skipsJudge } from '../../contract/judge-defaults.ts';
import { reading } from '../conduct.ts';

export const systemInfo = defineContract({
  ...reading,
  name: 'svc.system.info',
  description: 'Tells the version of the node, whether it is healthy, and the tools you may use.',
  input: toolArguments({}),
  result: z.strictObject({
    version: z.string(),
    status: z.enum(['healthy', 'unhealthy']),
    capabilities: z.array(z.string()).describe('Names of enabled tools.'),
  }),
  skipJudge: skipsJudge('svc.system.info'),
});

export const systemConfig = defineContract({
  ...reading,
  name: 'svc.system.config',
  description: 'Shows the configuration of the node as it was read at its start, without secrets.',
  input: toolArguments({}),
  result: z.strictObject({
    config_path: z.string().nullable().describe('Null: no file was read.'),
    content_yaml: z.string(),
  }),
  skipJudge: skipsJudge('svc.system.config'),
});

export const SYSTEM_CONTRACTS = [systemInfo, systemConfig] as const;
