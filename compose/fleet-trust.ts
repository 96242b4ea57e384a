import { randomBytes } from 'node:crypto';
import { createNodePeerApi, type NodePeerApi } from '../actors/node-peer/api.ts';
import type { ActorClient } from '../runtime/client.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import type { Random } from '../runtime/random.ts';
import { openPins, type Pins } from '../security/node-proofs/pins.ts';

export interface FleetTrust {
  readonly pins: Pins;
  /** Node peers; whoever is removed is forgotten here as well. */
  readonly peers: NodePeerApi;
}

/** What the fleet knows of its nodes beside their registrations, in the documents that all nodes share. */
export async function openFleetTrust(parts: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly random: Random;
  readonly client: ActorClient;
}): Promise<FleetTrust> {
  const peers = createNodePeerApi({ ...parts, randomBytes });
  const pins = await openPins(parts);
  return {
    pins,
    peers: {
      ...peers,
      async remove(nodeId, by) {
        await peers.remove(nodeId, by);
        await pins.forget(nodeId);
      },
    },
  };
}
