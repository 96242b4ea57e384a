import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import type { ToolGrant } from '../../manifests/tool/scope.ts';
import { outputSchema } from '../../tools/offer.ts';

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
