import type { Collection } from '../runtime/documents.ts';
import type { AgentEventRecord, AgentRecord, RecordedEvent } from './agent-record.ts';
import type { AgentLogEvent } from './api.ts';

/** Log events of agents (spec 3, svc.agent.logs). The agent's record is written first and carries its last event. */
export class AgentLog {
  readonly #events: Collection<AgentEventRecord>;

  constructor(events: Collection<AgentEventRecord>) {
    this.#events = events;
  }

  async record(tenant: string, agentId: string, event: RecordedEvent): Promise<void> {
    const id = `${agentId}:${event.sequence}`;
    await this.#events.insert({ tenant, id, version: 1, agent_id: agentId, ...event });
  }

  /** Records what a crash may have left only in the agent's record. */
  async recover(agent: AgentRecord): Promise<void> {
    const found = await this.#events.get(agent.tenant, `${agent.id}:${agent.last_event.sequence}`);
    if (found === null) await this.record(agent.tenant, agent.id, agent.last_event);
  }

  /** Oldest first. */
  async read(
    tenant: string,
    agentId: string,
    page: { readonly limit: number; readonly offset: number },
  ): Promise<{ events: AgentLogEvent[]; total: number }> {
    const where = { agent_id: agentId };
    const total = await this.#events.count({ tenant, where });
    const sort = [['sequence', 'asc']] as const;
    const found = await this.#events.find({ tenant, where, sort, limit: page.limit, skip: page.offset });
    const events = found.map(({ sequence, event_type, payload, recorded_at }) => ({
      sequence,
      event_type,
      payload,
      recorded_at,
    }));
    return { events, total };
  }
}
