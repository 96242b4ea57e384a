import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { createNodePeerApi, type NodePeerApi } from '../actors/node-peer/api.ts';
import { type ClusterNode, type ClusterNodeParts, openClusterNode } from '../cluster/cluster-node.ts';
import type { Documents } from '../runtime/documents.ts';
import type { Random } from '../runtime/random.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { JoinTokens } from '../security/api.ts';
import { openJoinTokens } from '../security/join-tokens/join-tokens.ts';
import { openNodeAdmission } from '../security/join-tokens/node-admission.ts';
import { openPins } from '../security/node-proofs/pins.ts';

export interface FleetParts
  extends Omit<ClusterNodeParts, 'pins' | 'joins' | 'activeExecutions' | 'managedConfig' | 'log'> {
  readonly documents: Documents;
  readonly random: Random;
  readonly runtime: Pick<Runtime, 'client' | 'counts'>;
  readonly logger: Logger;
}

/** What a node has to do with the others: registered peers, who may join, and with `spec.cluster.enabled` its calls to them. */
export interface Fleet {
  /** Whoever is removed is forgotten in all that the fleet knows of its nodes. */
  readonly peers: NodePeerApi;
  readonly joinTokens: JoinTokens;
  readonly clusterNode: ClusterNode | null;
}

/** What the fleet knows of its nodes is in the documents that all nodes share. Throws `invalid_config`. */
export async function openFleet(parts: FleetParts): Promise<Fleet> {
  const { settings, resolve, logger, runtime } = parts;
  const { enabled, join_token, require_join_token } = settings.cluster;
  const nodePeers = createNodePeerApi({ client: runtime.client, random: parts.random, randomBytes });
  const audit = (event: Readonly<Record<string, string>>, message: string): void => logger.info(event, message);
  const pins = await openPins(parts);
  const joins = await openNodeAdmission({
    ...parts,
    ...{ audit, required: require_join_token || join_token !== undefined },
    joinToken: async () => (enabled && join_token !== undefined ? resolve(join_token) : null),
  });
  const peers: NodePeerApi = {
    ...nodePeers,
    async remove(nodeId, by) {
      await nodePeers.remove(nodeId, by);
      await Promise.all([pins.forget(nodeId), joins.forget(nodeId)]);
    },
  };
  const clusterNode = !enabled
    ? null
    : await openClusterNode({
        ...parts,
        ...{ pins, joins, log: logger },
        activeExecutions: () => runtime.counts().effects.running,
        managedConfig: async () => (await peers.config()).config_yaml,
      });
  return { peers, clusterNode, joinTokens: await openJoinTokens({ ...parts, audit }) };
}
