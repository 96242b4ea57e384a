import type { AgentSummary } from '../../../catalog/api.ts';
import type { Tool } from '../../tool.ts';
import { readerOf } from '../caller.ts';
import { managed } from '../managed.ts';
import type { LateManagement } from '../ports.ts';
import { agentCreate, agentList } from './contracts.ts';

/** svc.agent.* over the catalog (spec 3, Agent tools). */
export function agentTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(agentCreate, async ({ manifest_yaml, force }, { ports, identity }) =>
      ports.agents.deploy(identity, manifest_yaml, { force }),
    ),
    define(agentList, async (_none, { ports, identity }) => ({
      agents: (await ports.agents.list(readerOf(identity))).map(listed),
    })),
  ];
}

/** Agent summary of spec 3, Tool result records. */
const listed = ({ agent_id: id, name, version, status, labels }: AgentSummary) => ({
  ...{ id, name, version, status, labels },
});
