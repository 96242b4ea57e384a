import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  FLEET,
  FLEET_CONFIG,
  FLEET_ROTATION,
  FleetConfigState,
  FleetState,
  hashOf,
  NO_CONFIG,
  nodeIds,
  RosterUpdate,
} from '../actors/fleet/roster.ts';
import { Shutdown } from '../actors/node-peer/messages.ts';
import {
  checked,
  NodeId,
  NodePeerState,
  type Peer,
  PeerStatus,
  peerAddress,
  Requirement,
} from '../actors/node-peer/state.ts';
import { OPERATORS_CONFIG_BYTES, parseManagedConfig, versionOf } from '../manifests/node/managed.ts';
import type { ActorClient, CallOptions } from '../runtime/client.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Json, JsonObject } from '../runtime/json.ts';
import type { Random } from '../runtime/random.ts';
import type { NodePeer, NodePeerApi } from './node-api.ts';

export type NodePeerClient = Pick<ActorClient, 'ask' | 'read'>;

const PeerAnswer = z.looseObject({ word: RosterUpdate.nullable() });

/** Calls to node peers and the fleet that all parts of the API share. */
export interface PeerCalls {
  readonly client: NodePeerClient;
  readonly random: Pick<Random, 'uuid'>;
  /** The registered node, or null. Reads committed state. */
  find(nodeId: string): Promise<Peer | null>;
  /**
   * Throws `forbidden` for a registered node with another key. Sends nothing for an unknown node, so no actor is
   * created.
   */
  admit(nodeId: string, publicKeyPem: string): Promise<void>;
  /** Sends a message to a peer and returns its answer. */
  askPeer(nodeId: string, type: string, payload: JsonObject): Promise<Json>;
  /** Passes the change in a peer's answer on to the fleet. After it resolves, `route` and `list` show the change. */
  tellFleet(answer: Json): Promise<void>;
  /** `askPeer`, then `tellFleet` with the answer. */
  ask(nodeId: string, type: string, payload: JsonObject, options?: CallOptions): Promise<Json>;
}

export function peerCalls(client: NodePeerClient, random: Pick<Random, 'uuid'>): PeerCalls {
  async function find(nodeId: string): Promise<Peer | null> {
    const snapshot = await client.read(peerAddress(checked(NodeId, nodeId, 'node_id')));
    return snapshot === null ? null : NodePeerState.parse(snapshot.state).peer;
  }

  function askPeer(nodeId: string, type: string, payload: JsonObject, options?: CallOptions): Promise<Json> {
    return client.ask(peerAddress(checked(NodeId, nodeId, 'node_id')), type, payload, options);
  }

  async function tellFleet(answer: Json): Promise<void> {
    const change = PeerAnswer.safeParse(answer);
    if (change.success && change.data.word !== null) await client.ask(FLEET, 'Hear', change.data.word);
  }

  return {
    client,
    random,
    find,
    askPeer,
    tellFleet,
    async admit(nodeId, publicKeyPem) {
      if ((await find(nodeId)) === null) return;
      await client.ask(peerAddress(nodeId), 'Admit', { public_key_pem: publicKeyPem });
    },
    async ask(nodeId, type, payload, options) {
      const answer = await askPeer(nodeId, type, payload, options);
      await tellFleet(answer);
      return answer;
    },
  };
}

/** The answer to SetConfig. A node of an earlier version returns no text, because it keeps the given text unchanged. */
const Kept = z.object({ config_yaml: z.string().optional() });

type Operations = Pick<NodePeerApi, 'drain' | 'shutdown' | 'remove' | 'config' | 'setConfig'>;

/** Operators' calls on nodes and on the configuration. */
export function operations({ client, ask }: PeerCalls): Operations {
  return {
    async drain(nodeId, by) {
      await ask(nodeId, 'Drain', {}, { identity: by });
    },
    async shutdown(nodeId, reason, by) {
      await ask(nodeId, 'Shutdown', checked(Shutdown, { reason }), { identity: by });
    },
    async remove(nodeId, by) {
      await ask(nodeId, 'Remove', {}, { identity: by });
    },
    async config() {
      const snapshot = await client.read(FLEET_CONFIG);
      const config = snapshot === null ? NO_CONFIG : FleetConfigState.parse(snapshot.state);
      return { ...config, version: versionOf(config.config_yaml) };
    },
    async setConfig(configYaml, by, madeFrom) {
      if (Buffer.byteLength(configYaml) > OPERATORS_CONFIG_BYTES) {
        const text = `config_yaml: expected at most ${OPERATORS_CONFIG_BYTES} bytes`;
        throw new SvcError('invalid_manifest', text, { field: 'config_yaml' });
      }
      const parsed = parseManagedConfig(configYaml);
      if (!parsed.ok) {
        throw new SvcError('invalid_manifest', `config_yaml: ${parsed.problems[0]?.message ?? 'malformed'}`, {
          field: 'config_yaml',
          details: parsed.problems,
        });
      }
      const message = { config_yaml: configYaml, ...(madeFrom === undefined ? {} : { made_from: madeFrom }) };
      const answer = await client.ask(FLEET_CONFIG, 'SetConfig', message, { identity: by });
      const { config_yaml = configYaml } = Kept.parse(answer);
      return { config_yaml, config_hash: hashOf(config_yaml), version: versionOf(config_yaml) };
    },
  };
}

const Target = z.object({ node_id: z.string(), grpc_address: z.string() });

const Turn = z.object({ number: z.number().int() });

const READ_AT_ONCE = 64;

/** Lists the registered nodes and routes executions to them (G28, G31). */
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

/** Key of a requirement. Equal requirements have equal keys, whatever the order of their names. */
function keyOf(required: Requirement): string {
  const { gpu_count = 0, vram_gb = 0, cpu_cores = 0, available_memory_gb = 0 } = required;
  const sorted = (names: readonly string[] = []): string[] => [...new Set(names)].sort();
  const sets = [sorted(required.supported_runtimes), sorted(required.tags)];
  const text = JSON.stringify([gpu_count, vram_gb, cpu_cores, available_memory_gb, ...sets]);
  return createHash('sha256').update(text).digest('hex');
}
