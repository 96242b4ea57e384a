import { z } from 'zod';
import { toolArguments } from '../contract/arguments.ts';
import { defineContract } from '../contract/define-contract.ts';
import { skipsJudge } from '../contract/judge-defaults.ts';

const reading = { runs: 'node', mode: 'repeatable', reads: true } as const;
const URL_CHARS = 8_192;
const QUERY_CHARS = 2_000;
const MAX_RESULTS = 20;
const MAX_TIMEOUT_SECS = 300;

export const webSearch = defineContract({
  ...reading,
  name: 'web.search',
  description: 'Searches the web; answers titles, addresses and snippets.',
  input: toolArguments({
    query: z.string().min(1).max(QUERY_CHARS),
    max_results: z.int().min(1).max(MAX_RESULTS).default(10),
  }),
  skipJudge: skipsJudge('web.search'),
  touches: () => ({ network: true }),
});

export const webFetch = defineContract({
  ...reading,
  name: 'web.fetch',
  description: 'Fetches a page or file from the web as text; HTML becomes markdown unless to_markdown is false.',
  input: toolArguments({
    url: z
      .string()
      .max(URL_CHARS)
      .regex(/^https?:\/\//, 'expected an address that starts with http:// or https://')
      .refine((url) => URL.canParse(url), 'expected a well-formed address'),
    to_markdown: z.boolean().default(true),
    follow_redirects: z.boolean().default(true),
    timeout_secs: z.int().min(1).max(MAX_TIMEOUT_SECS).default(30),
  }),
  skipJudge: skipsJudge('web.fetch'),
  touches: ({ url }) => ({ domains: [{ field: 'url', domain: hostOf(url) }] }),
});

/** Host of an address that was checked; of an IPv6 address without brackets. */
export const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '');

export const WEB_CONTRACTS = [webSearch, webFetch] as const;
