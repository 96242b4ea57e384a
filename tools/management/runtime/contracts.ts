import { z } from 'zod';
import { toolArguments } from '../../contract/arguments.ts';
import { defineContract } from '../../contract/define-contract.ts';
import { skipsJudge } from '../../contract/judge-defaults.ts';
import { reading } from '../conduct.ts';

export const runtimeList = defineContract({
  ...reading,
  name: 'svc.runtime.list',
  description:
    'Lists the languages and versions that an agent may name in spec.runtime. Look here before you write one.',
  input: toolArguments({ language: z.string().min(1).max(50).optional().describe('Only this language.') }),
  result: z.strictObject({
    tool: z.literal('svc.runtime.list'),
    runtimes: z.array(
      z.strictObject({
        ...{ language: z.string(), version: z.string(), image: z.string(), description: z.string() },
        deprecated: z.boolean(),
      }),
    ),
    custom_runtime_supported: z.boolean(),
  }),
  skipJudge: skipsJudge('svc.runtime.list'),
});

export const RUNTIME_CONTRACTS = [runtimeList] as const;
