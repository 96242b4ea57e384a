import type { Tool } from '../../tool.ts';
import { managed } from '../managed.ts';
import type { LateManagement } from '../ports.ts';
import { agentGenerate, workflowGenerate } from './contracts.ts';

/** svc.agent.generate and svc.workflow.generate over `AuthorApi` (spec 3). */
export function generateTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(agentGenerate, ({ input }, { ports, identity, call: { id, trace, signal } }) =>
      ports.authors.agent(input, { identity, trace, signal, executionId: id }),
    ),
    define(workflowGenerate, ({ input }, { ports, identity, call: { id, trace, signal } }) =>
      ports.authors.workflow(input, { identity, trace, signal, executionId: id }),
    ),
  ];
}
