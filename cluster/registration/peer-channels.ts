import type { ChannelCredentials } from '@grpc/grpc-js';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { clusterClient } from './channel.ts';
import type { Called } from './controllers.ts';
import { KnownReceiver } from './known-receiver.ts';

const MAX_PEERS = 256;
const IDLE_MS = 300_000;

/** One connection for each called node, kept between calls and closed when it is idle. */
interface PeerChannels {
  /** Throws `invalid_argument` for an invalid address, `unavailable` when all connections are in use. */
  use(peer: Peer): PeerChannel;
  /** Number of open connections. */
  readonly size: number;
  close(): void;
}

/** A node to call. Proofs are made for this id, whichever node answers at the address. */
export interface Peer {
  readonly nodeId: string;
  /** `host:port`. */
  readonly grpcAddress: string;
}

interface PeerChannel extends Called {
  /** Call it once, when the call has ended. */
  release(): void;
}

interface Entry extends Called {
  users: number;
  cancelIdle: () => void;
}

export function createPeerChannels(given: {
  readonly credentials: ChannelCredentials;
  readonly clock: Clock;
  readonly maxPeers?: number;
  readonly idleMs?: number;
}): PeerChannels {
  const { credentials, clock, maxPeers = MAX_PEERS, idleMs = IDLE_MS } = given;
  /** Least recently used first. */
  const entries = new Map<string, Entry>();

  const drop = (key: string, entry: Entry): void => {
    entry.cancelIdle();
    entry.client.close();
    if (entries.get(key) === entry) entries.delete(key);
  };
  const makeRoom = (): void => {
    if (entries.size < maxPeers) return;
    for (const [key, entry] of entries) {
      if (entry.users > 0) continue;
      drop(key, entry);
      return;
    }
    throw new SvcError(
      'unavailable',
      `calls to ${maxPeers} other nodes are running, the maximum; repeat the call later`,
    );
  };
  const entryOf = (key: string, { nodeId, grpcAddress }: Peer): Entry => {
    const known = entries.get(key);
    if (known !== undefined) {
      entries.delete(key);
      return known;
    }
    makeRoom();
    const client = clusterClient(grpcAddress, credentials);
    return { client, receiver: new KnownReceiver(clock, nodeId), users: 0, cancelIdle: () => {} };
  };

  return {
    use(peer) {
      const key = `${peer.grpcAddress} ${peer.nodeId}`;
      const entry = entryOf(key, peer);
      entries.set(key, entry);
      entry.cancelIdle();
      entry.users += 1;
      return {
        client: entry.client,
        receiver: entry.receiver,
        release() {
          entry.users -= 1;
          if (entry.users > 0) return;
          entry.cancelIdle = clock.after(idleMs, () => drop(key, entry));
        },
      };
    },
    get size() {
      return entries.size;
    },
    close() {
      for (const [key, entry] of entries) drop(key, entry);
    },
  };
}
