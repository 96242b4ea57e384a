import type { ChannelCredentials } from '@grpc/grpc-js';
import type { NodeClusterServiceClient } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { clusterClient } from './channel.ts';

const MAX_PEERS = 256;
const IDLE_MS = 300_000;

/** One connection for each node that is called, kept between calls and closed when nobody has used it for a while. */
export interface PeerChannels {
  /** Throws `invalid_argument` for no address, `unavailable` when all connections are in use. */
  use(address: string): PeerChannel;
  /** How many are open. */
  readonly size: number;
  close(): void;
}

export interface PeerChannel {
  readonly client: NodeClusterServiceClient;
  /** Call once, when the call has ended. */
  release(): void;
}

interface Entry {
  readonly client: NodeClusterServiceClient;
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

  const drop = (address: string, entry: Entry): void => {
    entry.cancelIdle();
    entry.client.close();
    if (entries.get(address) === entry) entries.delete(address);
  };
  const makeRoom = (): void => {
    if (entries.size < maxPeers) return;
    for (const [address, entry] of entries) {
      if (entry.users > 0) continue;
      drop(address, entry);
      return;
    }
    throw new SvcError('unavailable', `calls to ${maxPeers} other nodes are running, which is the most at once`);
  };
  const entryOf = (address: string): Entry => {
    const known = entries.get(address);
    if (known !== undefined) {
      entries.delete(address);
      return known;
    }
    makeRoom();
    return { client: clusterClient(address, credentials), users: 0, cancelIdle: () => {} };
  };

  return {
    use(address) {
      const entry = entryOf(address);
      entries.set(address, entry);
      entry.cancelIdle();
      entry.users += 1;
      return {
        client: entry.client,
        release() {
          entry.users -= 1;
          if (entry.users > 0) return;
          entry.cancelIdle = clock.after(idleMs, () => drop(address, entry));
        },
      };
    },
    get size() {
      return entries.size;
    },
    close() {
      for (const [address, entry] of entries) drop(address, entry);
    },
  };
}
