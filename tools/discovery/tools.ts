import type { ToolRun } from '../../manifests/tool/call.ts';
import type { ToolOffer, ToolScope } from '../../manifests/tool/scope.ts';
import { defineTool, type Tool, type ToolAnswer } from '../tool.ts';
import { toolsList, toolsSearch } from './contracts.ts';

/** What a scope shows now: the desk of the node. */
export interface Listing {
  list(scope: ToolScope, options: { readonly withoutExecution: boolean }): Promise<readonly ToolOffer[]>;
}

/** svc.tools.list and svc.tools.search (spec 3, Tool discovery): what the caller may use, and nothing else. */
export function discoveryTools(listing: Listing): Tool[] {
  const answer = async (
    tool: string,
    { scope, subject }: ToolRun,
    fits: (offer: ToolOffer) => boolean,
  ): Promise<ToolAnswer> => {
    const tools = (await listing.list(scope, { withoutExecution: subject.execution_id === null }))
      .filter(fits)
      .map(({ name, description, source, skip_judge }) => ({
        ...{ name, description, source, skip_judge },
      }));
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
