import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import type { ToolGrant, ToolOffer } from '../../manifests/tool/scope.ts';
import { outputSchema } from '../../tools/offer.ts';

/** A caller has no execution, so no workspace and no place where commands run. */
const needsExecution = ({ name, runs }: ToolOffer): boolean => runs === 'agent' || name.startsWith('fs.');

/** The grant without what needs an execution, whatever the desk put into it. */
export function usableGrant(grant: ToolGrant): ToolGrant {
  return { ...grant, tools: grant.tools.filter((offer) => !needsExecution(offer)) };
}

/** A grant as `tools/list` shows it. */
export function listedTools({ tools }: ToolGrant): Tool[] {
  return tools.flatMap(({ name, description, input_schema, reads, mode, source }) => {
    const { type, ...rest } = input_schema;
    // Clients refuse the whole list for a schema of another type.
    if (type !== 'object') return [];
    const result = source === 'builtin' ? outputSchema(name) : undefined;
    return [
      {
        name,
        description,
        inputSchema: { ...rest, type },
        ...(result === undefined ? {} : { outputSchema: { ...result, type } }),
        annotations: { readOnlyHint: reads, idempotentHint: mode === 'repeatable' },
      },
    ];
  });
}
