import type { ToolOutcome } from '../../manifests/tool/call.ts';
import type { JsonObject } from '../../runtime/json.ts';

/** An MCP tool result: texts, the object where there is one, and of a tool that failed its error. */
export interface CallerResult {
  readonly content: ToolOutcome['content'];
  readonly structuredContent?: JsonObject;
  readonly isError: boolean;
}

export function resultOf({ content, structured, is_error, error }: ToolOutcome): CallerResult {
  const told = structured ?? (error === undefined ? undefined : { error });
  return { content, ...(told === undefined ? {} : { structuredContent: told }), isError: is_error };
}
