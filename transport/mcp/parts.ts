import type { CallerToolParts } from '../caller-tools/parts.ts';

/** What /mcp translates into calls of. */
export type McpParts = CallerToolParts;
