import type { RestApp, RestParts } from '../../parts.ts';
import { callToolRoute } from './call-tool.ts';
import { listToolsRoute } from './list-tools.ts';

/** /v1/tools, for callers without an agent, where the node has tool sessions. */
export function toolRoutes(app: RestApp, { mcp }: RestParts): void {
  if (mcp === undefined) return;
  listToolsRoute(app, mcp);
  callToolRoute(app, mcp);
}
