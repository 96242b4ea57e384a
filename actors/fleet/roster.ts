import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MANAGED_CONFIG_BYTES, versionOf, withVersion } from '../../manifests/node/managed.ts';
import { addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { CapabilitySet, GrpcAddress, NodeId, NodeRoleName, PeerStatus } from '../node-peer/state.ts';

/** The data of a node that routing needs. Load and last heartbeat stay with the node's own actor. */
export const RosterEntry = z.object({
  role: NodeRoleName,
  status: PeerStatus,
  overdue: z.boolean(),
  capabilities: CapabilitySet,
  grpc_address: GrpcAddress,
});

export type RosterEntry = z.output<typeof RosterEntry>;

/** Update that a node peer sends to the fleet; `entry` null: the node has left. The higher revision is newer. */
export const RosterUpdate = z.object({
  node_id: NodeId,
  revision: z.number().int().min(1),
  entry: RosterEntry.nullable(),
});

export type RosterUpdate = z.output<typeof RosterUpdate>;

export const FleetState = z.object({
  /** By node id. A node that has left keeps its revision until its own actor is forgotten. */
  rows: z.record(z.string(), z.object({ revision: z.number().int(), entry: RosterEntry.nullable() })),
  /** Hash of the newest managed configuration; empty: none was ever set. */
  config_hash: z.string(),
});

export type FleetState = z.output<typeof FleetState>;

/** Limit of registered nodes. */
export const MOST_NODES = 10_000;

/** Ids of registered nodes, in order. */
export const nodeIds = ({ rows }: FleetState): string[] =>
  Object.keys(rows)
    .filter((id) => rows[id]?.entry !== null)
    .sort();

/** `config_hash` (G30): SHA-256 of the UTF-8 text, lower-case hex. */
export const hashOf = (configYaml: string): string => createHash('sha256').update(configYaml, 'utf8').digest('hex');

export const FleetConfigState = z.object({ config_yaml: z.string(), config_hash: z.string() });

/** The configuration before the first one is set: empty. */
export const NO_CONFIG = { config_yaml: '', config_hash: hashOf('') };

/** The configuration that controllers manage for all nodes (G30). It is large, so it is stored apart from the roster. */
export const fleetConfig = defineActor({
  kind: 'fleet-config',
  version: 1,
  pool: 'system',
  state: FleetConfigState,
  initial: () => NO_CONFIG,
  messages: {
    SetConfig: z.object({
      config_yaml: z.string().max(MANAGED_CONFIG_BYTES),
      /** Hash of the text from which this one was edited; refused when the configuration has changed since. */
      made_from: z.string().max(64).optional(),
    }),
  },
  /** `by`: subject of the operator. */
  events: { config_set: z.object({ config_hash: z.string(), by: z.string() }) },
  on: {
    SetConfig(state, message, turn) {
      if (message.made_from !== undefined && message.made_from !== state.config_hash)
        return turn.refuse('conflict', 'the configuration of all nodes was changed meanwhile');
      // The version only grows, so that nodes can detect an older text. It is at least the time in ms: after the loss of a
      // store, new versions must not be lower than those that nodes already apply.
      const version = Math.max(versionOf(state.config_yaml) + 1, turn.now);
      const config_yaml = withVersion(message.config_yaml, version);
      const config_hash = hashOf(config_yaml);
      turn.emit('config_set', { config_hash, by: turn.identity?.subject ?? '' });
      turn.tell(FLEET, 'ConfigChanged', { config_hash });
      turn.reply({ config_hash, config_yaml });
      return { config_yaml, config_hash };
    },
  },
});

/** Addresses of the fleet's actors, one of each kind. */
export const FLEET = addressOf('fleet', SYSTEM_TENANT, 'fleet');

export const FLEET_ROTATION = addressOf('fleet-rotation', SYSTEM_TENANT, 'fleet');

export const FLEET_CONFIG = addressOf('fleet-config', SYSTEM_TENANT, 'fleet');
