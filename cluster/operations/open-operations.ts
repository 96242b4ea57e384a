import type { NodeSettings } from '../../manifests/node/settings.ts';
import { poolOf } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { OpenStores } from '../../runtime/open-stores.ts';
import type { Random } from '../../runtime/random.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { ClusterApi, LocalNode } from '../api.ts';
import type { ChaosApi } from '../chaos/api.ts';
import { createChaos } from '../chaos/create-chaos.ts';
import { kernelFaults } from '../chaos/fault-record.ts';
import type { MemberCard } from '../placement/fleet.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';
import { type ClusterApiParts, createClusterApi, onOperatorWord } from './create-cluster-api.ts';
import type { NodeControls } from './node-controls.ts';

interface OperationsParts extends Pick<ClusterApiParts, 'peers' | 'push'> {
  readonly settings: NodeSettings;
  readonly node: string;
  readonly stores: Pick<OpenStores, 'store' | 'documents'>;
  readonly fleet: FleetPlacement;
  readonly runtime: Runtime;
  readonly controls: NodeControls;
  /** Drained by an operator: controllers may be told before the next heartbeat is due. */
  readonly onDrained: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

/** What operators see of this node and its fleet, and do to them. */
interface Operations {
  readonly cluster: ClusterApi;
  readonly chaos: ChaosApi;
  close(): void;
}

export async function openOperations(parts: OperationsParts): Promise<Operations> {
  const { settings, node, stores, fleet, runtime, controls, clock, random, warn, peers, push } = parts;
  const members = stores.store;
  const self = { node, incarnation: fleet.incarnation, role: settings.cluster.role, runtime, controls };
  const cluster = createClusterApi({ fleet, members, clock, peers, push, local: () => localNode(self) });
  const faults = kernelFaults(runtime, fleet);
  const { documents } = stores;
  const chaos = await createChaos({ members, documents, node, faults, settings: settings.chaos, clock, random, warn });
  const unhear = onOperatorWord(members, node, ({ operator, reason }) => {
    if (operator === 'shutdown') controls.shutDown(reason);
    else
      controls.drain().then(parts.onDrained, (thrown: unknown) => {
        warn('draining failed', thrown);
      });
  });
  return {
    cluster,
    chaos,
    close() {
      unhear();
      chaos.close();
    },
  };
}

/** This node as it sees itself, from memory. */
function localNode(parts: {
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
