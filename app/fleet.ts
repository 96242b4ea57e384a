import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { type ClusterNode, type ClusterNodeParts, openClusterNode } from '../cluster/cluster-node.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import { Lazy } from '../runtime/kit/lazy.ts';
import type { Random } from '../runtime/random.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { JoinTokens, SigningKeys } from '../security/api.ts';
import { openJoinTokens } from '../security/join-tokens/join-tokens.ts';
import { openNodeAdmission } from '../security/join-tokens/node-admission.ts';
import { createSigningKeys } from '../security/keys/open-keys.ts';
import { createPublishedKeys, type PublishedKeys } from '../security/keys/published-keys.ts';
import { openPins } from '../security/node-proofs/proof.ts';
import type { NodePeerApi } from '../usecases/node-api.ts';
import { createNodePeerApi } from '../usecases/nodes.ts';

interface FleetParts extends Omit<ClusterNodeParts, 'pins' | 'joins' | 'activeExecutions' | 'managedConfig' | 'log'> {
  readonly documents: Documents;
  readonly random: Random;
  readonly runtime: Pick<Runtime, 'client' | 'counts'>;
  readonly logger: Logger;
}

/**
 * This node's part in the fleet: registered peers, join tokens, and with `spec.cluster.enabled` its calls to other
 * nodes.
 */
interface Fleet {
  /** Registered nodes. Removing one also deletes all other data that the fleet stores about it. */
  readonly peers: NodePeerApi;
  readonly joinTokens: JoinTokens;
  readonly clusterNode: ClusterNode | null;
}

/** Opens the fleet's data about its nodes in the documents that all nodes share. Throws `invalid_config`. */
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

/** The keys that sign and verify the tokens of nodes, agents and executions, and the heads of audit chains. */
export interface Signing {
  readonly keys: SigningKeys;
  readonly published: PublishedKeys;
}

interface SigningWorld {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly documents: Documents;
  readonly resolve: (reference: string) => Promise<string>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Opens the signing keys. The keys are loaded or created by the first signature, since most nodes on one machine never
 * sign.
 */
export function openSigning({ settings, dataDir, documents, resolve, clock, warn }: SigningWorld): Signing {
  const keys = createSigningKeys(settings.signing, { dataDir, resolve, clock, warn });
  return { keys: openedAtFirstUse(keys), published: createPublishedKeys({ documents, clock }) };
}

function openedAtFirstUse(keys: SigningKeys): SigningKeys {
  // A failed opening is not cached: a key store that was unavailable may answer at the next use.
  const opened = new Lazy(async () => {
    await keys.open();
    return keys;
  });
  return {
    open: async () => void (await opened.get()),
    sign: async (data) => (await opened.get()).sign(data),
    publicKeys: async () => (await opened.get()).publicKeys(),
    rotate: async () => (await opened.get()).rotate(),
    close: () => keys.close(),
  };
}
