import { AGENT_AUTHOR_ID, WORKFLOW_AUTHOR_ID } from '../../../catalog/built-in/api.ts';
import type { Starter, Starts } from '../ports.ts';

export interface Started {
  readonly execution_id: string;
  readonly status: 'started';
}

/**
 * Writes manifests from plain words, by the authoring agents that ship with the product (docs/intent.md): each answer is an
 * execution of an agent, which deploys what it wrote by its own tool call. Both always run under `svc-system-default`,
 * whatever the caller's tier (spec 3, Authentication 5), and act as the caller. Throws `rate_limited`.
 */
export interface AuthorApi {
  agent(input: string, starter: Starter): Promise<Started>;
  workflow(input: string, starter: Starter): Promise<Started>;
}

/** By id: whatever a tenant deploys under the authors' names, these write. */
export function createAuthors({ starts }: { readonly starts: Pick<Starts, 'agent'> }): AuthorApi {
  const ask = async (agent: string, input: string, starter: Starter): Promise<Started> => {
    const { execution_id } = await starts.agent({ agent, input }, starter);
    return { execution_id, status: 'started' };
  };
  return {
    agent: (input, starter) => ask(AGENT_AUTHOR_ID, input, starter),
    workflow: (input, starter) => ask(WORKFLOW_AUTHOR_ID, input, starter),
  };
}
