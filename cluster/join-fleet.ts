import type { Clock } from '../runtime/clock.ts';
import type { Members } from '../runtime/members.ts';
import type { Random } from '../runtime/random.ts';
import { FleetPlacement, type OwnCard } from './placement/fleet-placement.ts';
import { advertisedHost, hostPort } from './pulse/advertise.ts';
import { startPulseServer } from './pulse/pulse-server.ts';
import { startPulseWatch } from './pulse/pulse-watch.ts';

export interface JoinFleetOptions {
  readonly members: Members;
  readonly node: string;
  readonly card: Omit<OwnCard, 'pulse' | 'clusterAddress' | 'restUrl' | 'startedAt'>;
  readonly leaseTtlMs: number;
  /** Where the pulse listens; null: this node is not watched and watches nobody (one process on its own store). */
  readonly pulseHost: string | null;
  readonly advertiseHost: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

export interface FleetSeat {
  readonly placement: FleetPlacement;
  /** Last of all: peers that cannot reach the pulse any more take this life for dead. */
  close(): Promise<void>;
}

/** This node's seat among the members: its placement, and the pulses that tell early when one of them dies. */
export async function joinFleet(options: JoinFleetOptions): Promise<FleetSeat> {
  const { members, node, leaseTtlMs, pulseHost, clock, random, warn } = options;
  const card = { ...options.card, startedAt: clock.now(), pulse: null, clusterAddress: null, restUrl: null };
  const placement = new FleetPlacement({ members, node, card, leaseTtlMs, clock, random, warn });
  if (pulseHost === null) return { placement, close: async () => {} };
  const server = await startPulseServer({ node, incarnation: placement.incarnation, host: pulseHost, warn });
  await placement.changeCard({ pulse: hostPort(advertisedHost(options.advertiseHost, server.host), server.port) });
  const watch = startPulseWatch({
    node,
    clock,
    random,
    onDead(dead, incarnation) {
      warn(`node ${dead} has died`, undefined);
      placement
        .declareDead(dead, incarnation)
        .catch((thrown: unknown) => warn(`the end of node ${dead} could not be told; its lease runs out`, thrown));
    },
  });
  const unwatch = placement.onMembers((live) => watch.watch(live));
  return {
    placement,
    async close() {
      unwatch();
      watch.close();
      await server.close();
    },
  };
}
