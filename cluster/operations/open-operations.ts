import type { NodeSettings } from '../../manifests/node/settings.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { OpenStores } from '../../runtime/open-stores.ts';
import type { Random } from '../../runtime/random.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { ClusterApi } from '../api.ts';
import type { ChaosApi } from '../chaos/api.ts';
import { createChaos } from '../chaos/create-chaos.ts';
import { kernelFaults } from '../chaos/kernel-faults.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';
import { type ClusterApiParts, createClusterApi, onOperatorWord } from './create-cluster-api.ts';
import { localNode } from './local-node.ts';
import type { NodeControls } from './node-controls.ts';

export interface OperationsParts extends Pick<ClusterApiParts, 'peers' | 'push'> {
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
export interface Operations {
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
