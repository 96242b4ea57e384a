import type { Access } from '../request-context.ts';

/** Options of routes under /v1/agents: plain error bodies (H1) and the fixed text of 404 (H10). */
export const agentRoute = (access: Access) =>
  ({ access, problems: 'plain', texts: { notFound: 'agent not found' } }) as const;

/** Options of routes under /v1/executions/{id}. */
export const executionRoute = (access: Access) =>
  ({ access, problems: 'plain', texts: { notFound: 'execution not found' } }) as const;
