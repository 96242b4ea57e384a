import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { nodeActors } from '../../../actors/node-peer/definition.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { openStores } from '../../../runtime/open-stores.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { type Runtime, startRuntime } from '../../../runtime/runtime.ts';
import type { Capabilities, NodePeerApi } from '../../../usecases/node-api.ts';
import { createNodePeerApi } from '../../../usecases/nodes.ts';

export const OPERATOR: Identity = {
  kind: 'operator',
  subject: 'olga',
  tenant: 'svc-system',
  roles: ['svc:admin'],
  tier: 'enterprise',
};

export const NOTHING: Capabilities = {
  gpu_count: 0,
  vram_gb: 0,
  cpu_cores: 0,
  available_memory_gb: 0,
  supported_runtimes: [],
  tags: [],
};

export const apiOver = (client: Runtime['client']): NodePeerApi =>
  createNodePeerApi({ client, random: systemRandom, randomBytes });

/** A controller on SQLite files, as in the product. */
export async function startController(dataDir: string, intervals: Parameters<typeof nodeActors>[0] = {}) {
  const warn = (message: string, error: unknown): void => assert.fail(`${message}: ${String(error)}`);
  const stores = await openStores({ dataDir, warn });
  const runtime = await startRuntime({
    ...stores,
    definitions: nodeActors(intervals),
    handlers: [],
    node: 'controller-1',
    settings: { partitions: 1, systemPartitions: 4, pollMs: 50 },
    warn,
  });
  return {
    runtime,
    stores,
    peers: apiOver(runtime.client),
    async stop() {
      await runtime.stop();
      await stores.close();
    },
  };
}

/** A node's own key, made in the way of a third-party worker. */
export interface NodeKey {
  readonly pem: string;
  readonly privateKey: KeyObject;
}

export function nodeKey(): NodeKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return { pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(), privateKey };
}

export const signNonce = (key: NodeKey, nonce: string): Uint8Array =>
  sign(null, Buffer.from(nonce, 'utf8'), key.privateKey);

/** Attests and registers a worker with the same steps as over the wire. */
export async function join(
  peers: NodePeerApi,
  nodeId: string,
  more: Partial<Capabilities> = {},
  key: NodeKey = nodeKey(),
): Promise<{ readonly peerId: string; readonly key: NodeKey }> {
  const { challengeId, challengeNonce } = await peers.attest({ nodeId, publicKeyPem: key.pem, role: 'WORKER' });
  const proven = await peers.answerChallenge({ challengeId, signature: signNonce(key, challengeNonce) });
  const { peerId } = await peers.register(proven.nodeId, {
    role: proven.role,
    capabilities: { ...NOTHING, ...more },
    grpcAddress: `${nodeId}.example:50056`,
    publicKeyPem: proven.publicKeyPem,
  });
  return { peerId, key };
}

export const beatOf = (peerId: string) => ({
  peerId,
  activeExecutionCount: 1,
  cpuUtilizationPercent: 10,
  memoryUtilizationPercent: 20,
  status: 'ACTIVE' as const,
});
