import type { AgentCatalog, AgentSummary, CatalogReader } from '../../../catalog/api.ts';
import { readAgentManifest } from '../../../catalog/manifest-reading.ts';
import type { ExecutionApi, ExecutionStatus } from '../../../usecases/executions.ts';
import { type LateManagement, readerOf, requireChange } from '../../../usecases/management.ts';
import type { Tool } from '../../tool.ts';
import { type ManagedCall, managed, refuseShipped, scopeOfNew } from '../managed.ts';
import { requestOf, searchAnswer } from '../search-contract.ts';
import { agentCreate, agentDelete, agentExport, agentList, agentLogs, agentSearch, agentUpdate } from './contracts.ts';

/** svc.agent.* over the catalog (W34), except svc.agent.wait, which is with the tools of tasks. */
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

    define(agentDelete, async ({ agent_id, force }, { ports, identity }) => {
      requireChange(identity, (await ports.agents.get(readerOf(identity), agent_id)).scope);
      await ports.agents.delete(identity, agent_id, { force });
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

/** Deploys a new version of an agent in its current scope. Throws `not_found` when there is no such agent. */
async function update(
  { manifest_yaml, force }: { readonly manifest_yaml: string; readonly force: boolean },
  { ports: { agents }, identity }: ManagedCall,
): Promise<object> {
  const parsed = await readAgentManifest(manifest_yaml);
  // For an invalid manifest, `deploy` below throws the precise error.
  const found = parsed.ok ? await agents.lookup(readerOf(identity), parsed.manifest.metadata.name) : null;
  if (found !== null) refuseShipped('agent', { id: found.agent_id, name: found.name });
  const scope = found?.scope ?? scopeOfNew(identity);
  requireChange(identity, scope);
  const { agent_id } = await agents.deploy(identity, manifest_yaml, { force, scope });
  return { agent_id, updated: true };
}

/** The summary of an agent in lists (W37). */
const listed = ({ agent_id: id, name, version, status, labels }: AgentSummary) => ({
  id,
  name,
  version,
  status,
  labels,
});

const metadataOf = (agent: AgentSummary) => {
  const { agent_id, name, version, description, status, scope, owner, labels, deployed_at } = agent;
  return { agent_id, name, version, description, status, scope, owner, labels, deployed_at };
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id of an agent. A UUID is accepted unchecked, since a deleted agent keeps its log under its id. */
async function idOf({ ports, identity }: Omit<ManagedCall, 'call'>, idOrName: string): Promise<string> {
  if (UUID.test(idOrName)) return idOrName.toLowerCase();
  return (await ports.agents.lookup(readerOf(identity), idOrName)).agent_id;
}

interface Parts {
  readonly agents: Pick<AgentCatalog, 'logs'>;
  readonly executions: Pick<ExecutionApi, 'ended'>;
}

/** Event names for ended executions in the log of their agent, the same as in their own logs. */
const ENDED_AS: Readonly<Partial<Record<ExecutionStatus['status'], string>>> = {
  completed: 'ExecutionCompleted',
  failed: 'ExecutionFailed',
  cancelled: 'ExecutionFailed',
};

/**
 * The log of an agent (svc.agent.logs), newest first: the changes to it, and the ends of its executions in the reader's
 * tenant. A page reads one page of each, whatever its offset. Throws `not_found`.
 */
async function agentLog(
  { agents, executions }: Parts,
  reader: CatalogReader,
  agentId: string,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly events: readonly Entry[]; readonly total: number }> {
  const { total: changes } = await agents.logs(reader, agentId, { limit: 1, offset: 0 });
  const { total: ends } = await executions.ended(reader, agentId, { limit: 1, skip: 0 });
  const catalog: Descending = {
    total: changes,
    async read(skip, limit) {
      const count = Math.min(limit, changes - skip);
      const { events } = await agents.logs(reader, agentId, { limit: count, offset: changes - skip - count });
      return events.map(({ event_type, payload, recorded_at }) => ({ event_type, payload, recorded_at })).toReversed();
    },
  };
  const runs: Descending = {
    total: ends,
    async read(skip, limit) {
      const found = await executions.ended(reader, agentId, { limit, skip });
      return found.executions.map(({ execution_id, agent_id, status, ended_at }) => ({
        event_type: ENDED_AS[status] ?? status,
        payload: { execution_id, agent_id, status },
        recorded_at: ended_at ?? '',
      }));
    },
  };
  return { events: await newestOfTwo(catalog, runs, page), total: changes + ends };
}

/** One entry of a log (svc.agent.logs). */
export interface Entry {
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** ISO 8601, so that sorting the text sorts by time. */
  readonly recorded_at: string;
}

/** A list of entries, newest first, with access by position. */
export interface Descending {
  readonly total: number;
  /** Reads from 1 to `limit` entries from position `skip` on. Callers only pass positions below `total`. */
  read(skip: number, limit: number): Promise<readonly Entry[]>;
}

/**
 * Merges one page of two lists, newest first; at equal times the first list's entry comes first. A binary search finds
 * how many entries of each list come before the page, so the cost does not grow with `offset`.
 */
export async function newestOfTwo(
  first: Descending,
  second: Descending,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<readonly Entry[]> {
  if (offset >= first.total + second.total) return [];
  let low = Math.max(0, offset - second.total);
  let high = Math.min(first.total, offset);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [[one], [other]] = await Promise.all([first.read(middle, 1), second.read(offset - middle - 1, 1)]);
    // An entry was removed meanwhile: return the page of what exists now.
    if (one === undefined || other === undefined) break;
    if (one.recorded_at >= other.recorded_at) low = middle + 1;
    else high = middle;
  }
  const [ones, others] = await Promise.all([from(first, low, limit), from(second, offset - low, limit)]);
  return merged(ones, others, limit);
}

const from = async (log: Descending, skip: number, limit: number): Promise<readonly Entry[]> =>
  skip < log.total ? log.read(skip, limit) : [];

function merged(ones: readonly Entry[], others: readonly Entry[], limit: number): readonly Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  let behind = 0;
  while (entries.length < limit) {
    const one = ones[at];
    const other = others[behind];
    const isOne = one !== undefined && (other === undefined || one.recorded_at >= other.recorded_at);
    const next = isOne ? one : other;
    if (next === undefined) break;
    entries.push(next);
    if (isOne) at += 1;
    else behind += 1;
  }
  return entries;
}
