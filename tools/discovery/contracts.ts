import { z } from 'zod';
import { toolArguments } from '../contract/arguments.ts';
import { defineContract } from '../contract/define-contract.ts';
import { skipsJudge } from '../contract/judge-defaults.ts';

const reading = { runs: 'node', mode: 'repeatable', reads: true } as const;
const QUERY_CHARS = 1_000;

export const toolsList = defineContract({
  ...reading,
  name: 'svc.tools.list',
  description: 'Lists the tools you may use.',
  input: toolArguments({}),
  skipJudge: skipsJudge('svc.tools.list'),
});

export const toolsSearch = defineContract({
  ...reading,
  name: 'svc.tools.search',
  description: 'Finds tools you may use by a word in their name or description.',
  input: toolArguments({ query: z.string().max(QUERY_CHARS).optional() }),
  skipJudge: skipsJudge('svc.tools.search'),
});

export const DISCOVERY_CONTRACTS = [toolsList, toolsSearch] as const;
