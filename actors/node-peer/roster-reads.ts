import { createHash } from 'node:crypto';
import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { FLEET, FLEET_ROTATION } from '../fleet/address.ts';
import { FleetState, nodeIds } from '../fleet/roster.ts';
import type { NodePeer, NodePeerApi } from './api.ts';
import { PeerStatus, Requirement } from './capabilities.ts';
import { checked } from './checked.ts';
import type { PeerCalls } from './peer-calls.ts';
import type { Peer } from './state.ts';

const Target = z.object({ node_id: z.string(), grpc_address: z.string() });
const Turn = z.object({ number: z.number().int() });
const READ_AT_ONCE = 64;

/** Who is there and who gets the next execution (spec 1, RouteExecution, ListPeers). */
export function rosterReads({ client, find }: PeerCalls): Pick<NodePeerApi, 'route' | 'list' | 'get'> {
  return {
    async route(required) {
      const wanted = checked(Requirement, required, 'required');
      const { number } = Turn.parse(await client.ask(FLEET_ROTATION, 'Next', { key: keyOf(wanted) }));
      const to = Target.parse(await client.ask(FLEET, 'Route', { required: wanted, number }));
      return { nodeId: to.node_id, grpcAddress: to.grpc_address };
    },

    async list(filterStatus) {
      const status = checked(PeerStatus.optional(), filterStatus, 'filter_status');
      const snapshot = await client.read(FLEET);
      const ids = snapshot === null ? [] : nodeIds(FleetState.parse(snapshot.state));
      const peers: NodePeer[] = [];
      for (let start = 0; start < ids.length; start += READ_AT_ONCE) {
        const page = ids.slice(start, start + READ_AT_ONCE);
        const read = await Promise.all(page.map(async (id) => ({ id, peer: await find(id) })));
        for (const { id, peer } of read) if (peer !== null) peers.push(shown(id, peer));
      }
      return status === undefined ? peers : peers.filter((peer) => peer.status === status);
    },

    async get(nodeId) {
      const peer = await find(nodeId);
      if (peer === null) throw new SvcError('not_found', 'no such node is registered');
      return shown(nodeId, peer);
    },
  };
}

function shown(nodeId: string, peer: Peer): NodePeer {
  const { role, capabilities, last_heartbeat_at, status, grpc_address, peer_id, load, commands } = peer;
  return {
    node_id: nodeId,
    role,
    capabilities,
    last_heartbeat_at,
    status,
    grpc_address,
    peer_id,
    ...load,
    pending_commands: commands,
  };
}

/** Equal requirements have equal keys, in whatever order they name things. */
function keyOf(required: Requirement): string {
  const { gpu_count = 0, vram_gb = 0, cpu_cores = 0, available_memory_gb = 0 } = required;
  const sorted = (names: readonly string[] = []): string[] => [...new Set(names)].sort();
  const sets = [sorted(required.supported_runtimes), sorted(required.tags)];
  const text = JSON.stringify([gpu_count, vram_gb, cpu_cores, available_memory_gb, ...sets]);
  return createHash('sha256').update(text).digest('hex');
}
