import { z } from 'zod';
import type { ToolRun } from '../../manifests/tool/call.ts';
import type { ToolOffer, ToolScope } from '../../manifests/tool/scope.ts';
import { defineContract, reading, toolArguments } from '../contract/arguments.ts';
import { defineTool, type Tool, type ToolAnswer } from '../tool.ts';

/** Lists the tools that a scope may call now. Implemented by the node's `ToolGranter`. */
export interface Listing {
  list(scope: ToolScope, options: { readonly withoutExecution: boolean }): Promise<readonly ToolOffer[]>;
}

/** svc.tools.list and svc.tools.search (W39): only tools that the caller may call. */
export function discoveryTools(listing: Listing): Tool[] {
  const answer = async (
    tool: string,
    { scope, subject }: ToolRun,
    fits: (offer: ToolOffer) => boolean,
  ): Promise<ToolAnswer> => {
    const tools = (await listing.list(scope, { withoutExecution: subject.execution_id === null }))
      .filter(fits)
      .map(({ name, description, source, skip_judge }) => ({ name, description, source, skip_judge }));
    const structured = { tool, tools, total: tools.length };
    return { text: JSON.stringify(structured), structured };
  };
  return [
    defineTool(toolsList, (_input, { run }) => answer('svc.tools.list', run, () => true)),
    defineTool(toolsSearch, ({ query = '' }, { run }) => {
      const wanted = query.toLowerCase();
      return answer('svc.tools.search', run, ({ name, description }) =>
        `${name}\n${description}`.toLowerCase().includes(wanted),
      );
    }),
  ];
}

const QUERY_CHARS = 1_000;

const listOf = (tool: string) =>
  z.strictObject({
    tool: z.literal(tool),
    tools: z.array(
      z.strictObject({
        name: z.string(),
        description: z.string(),
        source: z.enum(['builtin', 'mcp']),
        skip_judge: z.boolean(),
      }),
    ),
    total: z.int().min(0),
  });

const toolsList = defineContract({
  ...reading,
  name: 'svc.tools.list',
  description: 'Lists the tools you may use.',
  input: toolArguments({}),
  result: listOf('svc.tools.list'),
});

const toolsSearch = defineContract({
  ...reading,
  name: 'svc.tools.search',
  description: 'Finds tools you may use by a word in their name or description.',
  input: toolArguments({ query: z.string().max(QUERY_CHARS).optional() }),
  result: listOf('svc.tools.search'),
});

export const DISCOVERY_CONTRACTS = [toolsList, toolsSearch] as const;
