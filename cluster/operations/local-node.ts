import { poolOf } from '../../runtime/address.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { LocalNode } from '../api.ts';
import type { MemberCard } from '../placement/card.ts';
import type { NodeControls } from './node-controls.ts';

/** This node as it sees itself, from memory. */
export function localNode(parts: {
  readonly node: string;
  readonly incarnation: string;
  readonly role: MemberCard['role'];
  readonly runtime: Runtime;
  readonly controls: NodeControls;
}): LocalNode {
  const { runtime, controls } = parts;
  const partitions: Record<string, number> = {};
  for (const partition of runtime.held()) {
    const pool = poolOf(partition);
    partitions[pool] = (partitions[pool] ?? 0) + 1;
  }
  const { fenced, effects, leaseAgeMs } = runtime.counts();
  return {
    node_id: parts.node,
    incarnation: parts.incarnation,
    role: parts.role,
    tags: controls.tags,
    ready: runtime.ready() && !controls.draining,
    draining: controls.draining,
    partitions,
    residents: runtime.residents(),
    unread_partitions: runtime.unread().length,
    postponed_messages: runtime.postponed(),
    fenced_commits: fenced,
    running_effects: effects.running,
    lease_age_ms: Math.round(leaseAgeMs),
  };
}
