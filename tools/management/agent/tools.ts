import type { AgentSummary } from '../../../catalog/api.ts';
import { parseAgentManifest } from '../../../manifests/agent/parse.ts';
import type { Tool } from '../../tool.ts';
import { readerOf, requireChange } from '../caller.ts';
import { scopeOfNew } from '../generate/scope.ts';
import { type ManagedCall, managed } from '../managed.ts';
import type { LateManagement } from '../ports.ts';
import { requestOf, searchAnswer } from '../search-contract.ts';
import { refuseShipped } from '../shipped.ts';
import { agentCreate, agentDelete, agentExport, agentList, agentLogs, agentSearch, agentUpdate } from './contracts.ts';
import { agentLog } from './log.ts';

/** svc.agent.* over the catalog (spec 3, Agent tools); svc.agent.wait is one of the tools of tasks. */
export function agentTools(late: LateManagement): Tool[] {
  const define = managed(late);
  return [
    define(agentCreate, ({ manifest_yaml, force }, { ports, identity }) =>
      ports.agents.deploy(identity, manifest_yaml, { force, scope: scopeOfNew(identity) }),
    ),

    define(agentUpdate, update),

    define(agentExport, async ({ name }, { ports, identity }) => {
      const { manifest_yaml, ...found } = await ports.agents.get(readerOf(identity), name);
      return { manifest_yaml, metadata: metadataOf(found) };
    }),

    define(agentDelete, async ({ agent_id }, { ports, identity }) => {
      requireChange(identity, (await ports.agents.get(readerOf(identity), agent_id)).scope);
      await ports.agents.delete(identity, agent_id);
      return { agent_id, deleted: true };
    }),

    define(agentList, async (_none, { ports, identity }) => ({
      agents: (await ports.agents.list(readerOf(identity))).items.map(listed),
    })),

    define(agentSearch, async (asked, { ports, identity }) =>
      searchAnswer('svc.agent.search', asked, await ports.search.agents(readerOf(identity), requestOf(asked))),
    ),

    define(agentLogs, async ({ agent_id, limit, offset }, { ports, identity }) => {
      const id = await idOf({ ports, identity }, agent_id);
      const log = await agentLog(ports, readerOf(identity), id, { limit, offset });
      return { tool: 'svc.agent.logs', agent_id: id, ...log, limit, offset };
    }),
  ];
}

/** Where the agent stands now; one that is not there is not made. */
async function update(
  { manifest_yaml, force }: { readonly manifest_yaml: string; readonly force: boolean },
  { ports: { agents }, identity }: ManagedCall,
): Promise<object> {
  const parsed = parseAgentManifest(manifest_yaml);
  // What is wrong with the text the deploy says best, and first.
  const found = parsed.ok ? await agents.lookup(readerOf(identity), parsed.manifest.metadata.name) : null;
  if (found !== null) refuseShipped('agent', { id: found.agent_id, name: found.name });
  const scope = found?.scope ?? scopeOfNew(identity);
  requireChange(identity, scope);
  const { agent_id } = await agents.deploy(identity, manifest_yaml, { force, scope });
  return { agent_id, updated: true };
}

/** Agent summary of spec 3, Tool result records. */
const listed = ({ agent_id: id, name, version, status, labels }: AgentSummary) => ({
  ...{ id, name, version, status, labels },
});

const metadataOf = (agent: AgentSummary) => {
  const { agent_id, name, version, description, status, scope, owner, labels, deployed_at } = agent;
  return { agent_id, name, version, description, status, scope, owner, labels, deployed_at };
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A deleted agent keeps its log under its id. */
async function idOf({ ports, identity }: Omit<ManagedCall, 'call'>, idOrName: string): Promise<string> {
  if (UUID.test(idOrName)) return idOrName.toLowerCase();
  return (await ports.agents.lookup(readerOf(identity), idOrName)).agent_id;
}
