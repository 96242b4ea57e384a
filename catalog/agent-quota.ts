import type { Collection } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import { OneAtATimePerKey } from '../runtime/one-at-a-time.ts';
import { type ShelfRecord, STATUSES } from './shelf/record.ts';

/** How many agents somebody may have; null: as many as they like (original-facts 13.1). */
export interface AgentQuota {
  most(identity: Identity): number | null | Promise<number | null>;
}

/** Whether somebody may have one more agent. */
export async function hasRoom(
  agents: Collection<ShelfRecord>,
  quota: AgentQuota | undefined,
  identity: Identity,
): Promise<boolean> {
  const most = (await quota?.most(identity)) ?? null;
  return most === null || (await countOf(agents, identity)) < most;
}

/**
 * Puts new agents in as long as whoever deploys has room: agents of the tenant that the same user made and that are
 * there still. On one node this user's creates go one by one, so races on several exceed it by one for each other node.
 */
export function quotaInsert(
  agents: Collection<ShelfRecord>,
  quota: AgentQuota | undefined,
): (identity: Identity, record: ShelfRecord) => Promise<boolean | SvcError> {
  const queues = new OneAtATimePerKey();
  return async (identity, record) => {
    const most = (await quota?.most(identity)) ?? null;
    if (most === null) return agents.insert(record);
    const { tenant, subject } = identity;
    return queues.run(JSON.stringify([tenant, subject]), async () => {
      if ((await countOf(agents, identity)) < most) return agents.insert(record);
      const rule = `${most} agents are the most this user may have (tier ${identity.tier})`;
      return new SvcError('limit_reached', `${rule}; delete one first`, { field: 'agents' });
    });
  };
}

const countOf = (agents: Collection<ShelfRecord>, { tenant, subject }: Identity): Promise<number> =>
  agents.count({ tenant, where: { created_by: subject, status: { in: STATUSES } } });
