import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { type HostPort, parseHostPort } from '../advertised-host.ts';
import type { FleetMember } from '../placement/fleet.ts';
import { WatchedPeer } from './watched-peer.ts';

export interface FailureDetectorOptions {
  /** This node. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Called once for an incarnation that died. */
  readonly onDead: (node: string, incarnation: string) => void;
}

export interface FailureDetector {
  /** Sets the live members, which determine the watched nodes. */
  watch(members: readonly FleetMember[]): void;
  /** Ids of the nodes with an open connection. */
  connected(): string[];
  close(): void;
}

/** Number of nodes that watch each node. */
const WATCHED = 3;

interface Watched {
  readonly member: FleetMember;
  readonly address: HostPort;
}

/** Holds connections to the next members in the ring of node ids, and reports when one of them dies. */
export function startFailureDetector({ node, clock, random, onDead }: FailureDetectorOptions): FailureDetector {
  // Dead peers stay until the members no longer include them, so that each is reported once.
  const peers = new Map<string, { readonly node: string; readonly peer: WatchedPeer }>();
  let closed = false;
  return {
    watch(members) {
      if (closed) return;
      const wanted = new Map(nextOf(node, members).map((one) => [keyOf(one), one]));
      for (const [key, { peer }] of peers) {
        if (wanted.has(key)) continue;
        peer.close();
        peers.delete(key);
      }
      for (const [key, { member, address }] of wanted) {
        if (peers.has(key)) continue;
        const parts = { clock, random, onDead: () => onDead(member.node, member.incarnation) };
        peers.set(key, { node: member.node, peer: new WatchedPeer(member, address, parts) });
      }
    },
    connected: () => [...peers.values()].flatMap(({ node: id, peer }) => (peer.connected ? [id] : [])),
    close() {
      closed = true;
      for (const { peer } of peers.values()) peer.close();
      peers.clear();
    },
  };
}

/** The next members after this node in the ring that have a liveness server. */
function nextOf(node: string, members: readonly FleetMember[]): Watched[] {
  const watchable = members.flatMap((member): Watched[] => {
    const address = member.info === null ? null : parseHostPort(member.info.pulse ?? '');
    return address === null || member.node === node ? [] : [{ member, address }];
  });
  watchable.sort((a, b) => (a.member.node < b.member.node ? -1 : 1));
  const behind = watchable.filter(({ member }) => member.node > node);
  return [...behind, ...watchable.filter(({ member }) => member.node < node)].slice(0, WATCHED);
}

const keyOf = ({ member, address }: Watched): string =>
  `${member.node}/${member.incarnation}@${address.host}:${address.port}`;
