import { sign } from 'node:crypto';
import os from 'node:os';
import { decodeJwt } from 'jose';
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

/** Who asks to be attested, and with what. */
export interface Attestant {
  readonly nodeId: string;
  readonly role: 'WORKER' | 'HYBRID';
  readonly key: NodeKey;
  /** What controllers ask new nodes for; undefined when they ask for nothing. */
  readonly joinToken: (() => Promise<string | undefined>) | undefined;
}

/** A token a controller gave, with its end on this machine's monotonic clock. */
export interface NodeToken {
  readonly text: string;
  readonly lifetimeMs: number;
  /** `clock.monotonic()` at which it must no longer be used. */
  readonly expiresAt: number;
}

const JOIN_TOKEN_KEY = 'svc-join-token';

const MAX_LIFETIME_MS = 24 * 3_600_000;

/**
 * Proves to a controller that this node holds its key (G17): the UTF-8 bytes of
 * the nonce are signed. Throws what the controller refused with; a challenge that was lost on the way (another
 * controller, 300 s gone) is `unavailable`, since beginning again helps.
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
      // What a worker answers that stands among the controllers by mistake.
      passOver: ({ row }) => row.grpc === 'FAILED_PRECONDITION',
      metadata: joinToken === undefined ? {} : { [JOIN_TOKEN_KEY]: joinToken },
    },
  );
  const signature = sign(null, Buffer.from(challenge.challenge_nonce, 'utf8'), key.privateKey);
  const proof = { challenge_id: challenge.challenge_id, signature };
  // Counted from before the question, so that the token never seems to live longer than it does.
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
 * From the token's own `iat` and `exp`, both by the controller's clock: a node whose clock is minutes off must not take
 * a good token for an expired one. `expires_at` counts only for a token that cannot be read.
 */
function lifetimeMsOf(answer: ChallengeNodeResponse, clock: Clock): number {
  const { iat, exp } = claimsOf(answer.node_security_token);
  const lifetimeMs =
    iat !== undefined && exp !== undefined ? (exp - iat) * 1_000 : Date.parse(answer.expires_at) - clock.now();
  if (!(lifetimeMs > 0)) throw new SvcError('unavailable', 'ChallengeNode: the controller answered no usable token');
  return Math.min(lifetimeMs, MAX_LIFETIME_MS);
}

function claimsOf(token: string): { readonly iat?: number | undefined; readonly exp?: number | undefined } {
  try {
    return decodeJwt(token);
  } catch {
    // Not readable is no fault here: a controller may give tokens of another make.
    return {};
  }
}

/**
 * What this node offers (G23): `spec.node.resources`, and the machine's own figures where
 * they are not set. Memory is what the process may use at all (a container's limit counts), in GiB, so that it does not
 * change from one registration to the next.
 */
export function nodeCapabilities(given: {
  readonly resources: NodeSettings['node']['resources'];
  /** In force now; they may have been changed at run time. */
  readonly tags: readonly string[];
  /** Isolations and language runtimes that executions may ask for here. */
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

/** The machine's memory, or less where the process is confined. */
export function memoryLimitBytes(): number {
  const confined = process.constrainedMemory();
  return confined > 0 ? Math.min(confined, os.totalmem()) : os.totalmem();
}

const roundedGb = (bytes: number): number => Math.round((bytes / 2 ** 30) * 10) / 10;
