import type { Access } from '../request-context.ts';

/** Routes under /v1/agents: errors are plain bodies (H1), and so is the text for what is not there (H10). */
export const agentRoute = (access: Access) =>
  ({ access, problems: 'plain', texts: { notFound: 'agent not found' } }) as const;

/** Routes under /v1/executions/{id}. */
export const executionRoute = (access: Access) =>
  ({ access, problems: 'plain', texts: { notFound: 'execution not found' } }) as const;
