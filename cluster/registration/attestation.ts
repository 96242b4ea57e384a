import { sign } from 'node:crypto';
import os from 'node:os';
import { jose } from '../../manifests/late-libraries.ts';
import type { NodeSettings } from '../../manifests/node/settings.ts';
import {
  type AttestNodeResponse,
  type ChallengeNodeResponse,
  type NodeCapabilityAdvertisement,
  NodeRole,
} from '../../proto/gen/svc/cluster/v1/cluster.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import type { NodeKey } from '../../security/node-key.ts';
import type { Controllers } from './controllers.ts';

/** The node to attest and its credentials. */
export interface Attestant {
  readonly nodeId: string;
  readonly role: 'WORKER' | 'HYBRID';
  readonly key: NodeKey;
  /** Join token, for controllers that require one; undefined when they require none. */
  readonly joinToken: (() => Promise<string | undefined>) | undefined;
}

/** A token from a controller, with its expiry on this machine's monotonic clock. */
export interface NodeToken {
  readonly text: string;
  readonly lifetimeMs: number;
  /** `clock.monotonic()` at which it expires. */
  readonly expiresAt: number;
}

const JOIN_TOKEN_KEY = 'svc-join-token';

const MAX_LIFETIME_MS = 24 * 3_600_000;

/**
 * Proves to a controller that this node has its private key, by signing the UTF-8 bytes of a nonce (G17). Throws the
 * controller's refusal; `unavailable` when the challenge is unknown (another controller, or older than 300 s), since a new
 * attempt helps.
 */
export async function attest(
  attestant: Attestant,
  controllers: Controllers,
  clock: Clock,
  signal: AbortSignal,
): Promise<NodeToken> {
  const { nodeId, key } = attestant;
  const joinToken = await attestant.joinToken?.();
  const request = { node_id: nodeId, public_key_pem: key.publicKeyPem, role: NodeRole[attestant.role] };
  const challenge = await controllers.ask<AttestNodeResponse>(
    'AttestNode',
    (client, ...rest) => client.attestNode(request, ...rest),
    {
      signal,
      // A worker that is configured as a controller answers this.
      passOver: ({ row }) => row.grpc === 'FAILED_PRECONDITION',
      metadata: joinToken === undefined ? {} : { [JOIN_TOKEN_KEY]: joinToken },
    },
  );
  const signature = sign(null, Buffer.from(challenge.challenge_nonce, 'utf8'), key.privateKey);
  const proof = { challenge_id: challenge.challenge_id, signature };
  // Measured before the request, so that the token never seems to be valid for longer than it is.
  const askedAt = clock.monotonic();
  const answer = await controllers
    .ask<ChallengeNodeResponse>('ChallengeNode', (client, ...rest) => client.challengeNode(proof, ...rest), { signal })
    .catch((thrown: unknown) => {
      const error = toSvcError(thrown);
      throw error.code === 'unauthenticated' ? new SvcError('unavailable', error.message) : error;
    });
  const lifetimeMs = lifetimeMsOf(answer, clock);
  return { text: answer.node_security_token, lifetimeMs, expiresAt: askedAt + lifetimeMs };
}

/**
 * Lifetime of a token in ms, from its own `iat` and `exp`. Both are by the controller's clock, so a node whose clock is minutes
 * off does not take a valid token for an expired one. `expires_at` is used only for a token that cannot be decoded.
 */
function lifetimeMsOf(answer: ChallengeNodeResponse, clock: Clock): number {
  const { iat, exp } = claimsOf(answer.node_security_token);
  const lifetimeMs =
    iat !== undefined && exp !== undefined ? (exp - iat) * 1_000 : Date.parse(answer.expires_at) - clock.now();
  if (!(lifetimeMs > 0))
    throw new SvcError('unavailable', 'ChallengeNode: the controller did not answer with a valid token');
  return Math.min(lifetimeMs, MAX_LIFETIME_MS);
}

function claimsOf(token: string): { readonly iat?: number | undefined; readonly exp?: number | undefined } {
  try {
    return jose().decodeJwt(token);
  } catch {
    // The token need not be a JWT: a controller may issue tokens in another format.
    return {};
  }
}

/**
 * The offer of this node (G23): `spec.node.resources`, with the machine's values as defaults. Memory is the limit of the
 * process (such as that of its container) in GiB, so that it is the same at each registration.
 */
export function nodeCapabilities(given: {
  readonly resources: NodeSettings['node']['resources'];
  /** Current tags; they may have been changed at run time. */
  readonly tags: readonly string[];
  /** Isolations and language runtimes that executions may request here. */
  readonly runtimes: readonly string[];
}): NodeCapabilityAdvertisement {
  const { resources } = given;
  const hasGpu = resources.gpu !== undefined && resources.gpu !== false;
  return {
    gpu_count: Math.floor(resources.gpu_count ?? (hasGpu ? 1 : 0)),
    vram_gb: resources.vram_gb ?? 0,
    cpu_cores: Math.max(1, Math.floor(resources.cpu_cores ?? os.availableParallelism())),
    available_memory_gb: resources.memory_gb ?? roundedGb(memoryLimitBytes()),
    supported_runtimes: [...new Set(given.runtimes)].sort(),
    tags: [...new Set(given.tags)].sort(),
  };
}

/** Memory of the machine, or of the process when it has a lower limit. */
export function memoryLimitBytes(): number {
  const confined = process.constrainedMemory();
  return confined > 0 ? Math.min(confined, os.totalmem()) : os.totalmem();
}

const roundedGb = (bytes: number): number => Math.round((bytes / 2 ** 30) * 10) / 10;
