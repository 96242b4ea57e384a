import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { FleetMember } from '../placement/fleet.ts';
import { type HostPort, parseHostPort } from './liveness-server.ts';
import { WatchedPeer } from './watched-peer.ts';

export interface FailureDetectorOptions {
  /** This node. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  /** A life that was there and is gone; told once. */
  readonly onDead: (node: string, incarnation: string) => void;
}

export interface FailureDetector {
  /** The live members as they are now: whom to watch follows from them. */
  watch(members: readonly FleetMember[]): void;
  /** Ids of the nodes that a connection is held to now. */
  connected(): string[];
  close(): void;
}

/** Each node is watched by so many others. */
const WATCHED = 3;

interface Watched {
  readonly member: FleetMember;
  readonly address: HostPort;
}

/** Holds a connection to the next few members, in the ring of node ids, and tells at once when one of them has died. */
export function startFailureDetector({ node, clock, random, onDead }: FailureDetectorOptions): FailureDetector {
  // Those that were told dead stay until the members no longer name them, so that they are told once.
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

/** The members behind this node in the ring that can be watched, nearest first. */
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
