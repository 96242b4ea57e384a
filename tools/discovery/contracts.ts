import { z } from 'zod';
import { toolArguments } from '../contract/arguments.ts';
import { defineContract } from '../contract/define-contract.ts';
import { skipsJudge } from '../contract/judge-defaults.ts';

const reading = { runs: 'node', mode: 'repeatable', reads: true } as const;
const QUERY_CHARS = 1_000;

const listOf = (tool: string) =>
  z.strictObject({
    tool: z.literal(tool),
    tools: z.array(
      z.strictObject({
        ...{ name: z.string(), description: z.string(), source: z.enum(['builtin', 'mcp']) },
        skip_judge: z.boolean(),
      }),
    ),
    total: z.int().min(0),
  });

export const toolsList = defineContract({
  ...reading,
  name: 'svc.tools.list',
  description: 'Lists the tools you may use.',
  input: toolArguments({}),
  result: listOf('svc.tools.list'),
  skipJudge: skipsJudge('svc.tools.list'),
});

export const toolsSearch = defineContract({
  ...reading,
  name: 'svc.tools.search',
  description: 'Finds tools you may use by a word in their name or description.',
  input: toolArguments({ query: z.string().max(QUERY_CHARS).optional() }),
  result: listOf('svc.tools.search'),
  skipJudge: skipsJudge('svc.tools.search'),
});

export const DISCOVERY_CONTRACTS = [toolsList, toolsSearch] as const;
