import { createHash, timingSafeEqual } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import { NodeClusterServiceService as service } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { bearerToken } from '../../../security/api.ts';
import { isPublic, single } from '../access.ts';
import type { ClusterServerParts } from './parts.ts';

/** Metadata of AttestNode on a fleet that does not let every node in. */
export const JOIN_TOKEN_KEY = 'svc-join-token';

/** Which side of a node serves a method, and what its caller must show before the message is read. */
interface Rule {
  readonly by: 'controller' | 'worker';
  readonly shows: 'join token' | 'nothing' | 'node token';
}

const forControllers: Rule = { by: 'controller', shows: 'node token' };
const forWorkers: Rule = { by: 'worker', shows: 'node token' };

/** Spec 1, Endpoints. A method that is not here is forbidden. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [service.attestNode.path, { by: 'controller', shows: 'join token' }],
  [service.challengeNode.path, { by: 'controller', shows: 'nothing' }],
  [service.registerNode.path, forControllers],
  [service.heartbeat.path, forControllers],
  [service.deregisterNode.path, forControllers],
  [service.routeExecution.path, forControllers],
  [service.forwardExecution.path, forWorkers],
  [service.syncConfig.path, forControllers],
  [service.pushConfig.path, forWorkers],
  [service.listPeers.path, forControllers],
]);

type AdmissionParts = Pick<ClusterServerParts, 'tokens' | 'worker' | 'controller' | 'joinToken'>;

/**
 * Refuses a call before its message is read: `failed_precondition` on a node of the other role, `forbidden` without the
 * join token, `unauthenticated` without a good node token. The envelope is verified with the message.
 */
export function admission(parts: AdmissionParts): (path: string, metadata: Metadata) => Promise<null> {
  return async (path, metadata) => {
    if (isPublic(path)) return null;
    const rule = RULES.get(path);
    if (rule === undefined) throw new SvcError('forbidden');
    requireServed(rule, parts);
    if (rule.shows === 'join token') requireJoinToken(metadata, parts.joinToken);
    if (rule.shows === 'node token') await parts.tokens.verify(bearerOf(metadata));
    return null;
  };
}

function requireServed({ by }: Rule, { worker, controller }: AdmissionParts): void {
  if (by === 'controller' && !controller) {
    throw new SvcError('failed_precondition', 'this node is not a controller: ask one of the fleet');
  }
  if (by === 'worker' && worker === null) {
    throw new SvcError('failed_precondition', 'this node is not a worker: ask one of the fleet');
  }
}

function requireJoinToken(metadata: Metadata, joinToken: string | null): void {
  if (joinToken === null) return;
  const shown = single(metadata, JOIN_TOKEN_KEY);
  if (shown !== undefined && timingSafeEqual(digest(shown), digest(joinToken))) return;
  throw new SvcError('forbidden', `a node joins this fleet with its token in metadata ${JOIN_TOKEN_KEY}`);
}

/** Of equal length whatever was shown, so that the comparison tells nothing of it. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function bearerOf(metadata: Metadata): string {
  const token = bearerToken(single(metadata, 'authorization'));
  if (token !== undefined) return token;
  throw new SvcError('unauthenticated', 'a node token is needed in metadata authorization: expected Bearer TOKEN');
}
