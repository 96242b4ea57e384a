import type { Metadata } from '@grpc/grpc-js';
import { NodeClusterServiceService as service } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { bearerToken } from '../../../security/api.ts';
import { isPublic, single } from '../access.ts';
import type { ClusterServerParts } from './parts.ts';

/** Which side of a node serves a method, and what its caller must show before the message is read. */
interface Rule {
  readonly by: 'controller' | 'worker';
  /** The join token of AttestNode is looked at with its message, since it may be for one node only. */
  readonly shows: 'nothing' | 'node token';
}

const forControllers: Rule = { by: 'controller', shows: 'node token' };
const forWorkers: Rule = { by: 'worker', shows: 'node token' };

/** Spec 1, Endpoints. A method that is not here is forbidden. */
const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [service.attestNode.path, { by: 'controller', shows: 'nothing' }],
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

type AdmissionParts = Pick<ClusterServerParts, 'tokens' | 'worker' | 'controller'>;

/**
 * Refuses a call before its message is read: `failed_precondition` on a node of the other role, `unauthenticated` without a good node token. The envelope is verified with the message.
 */
export function admission(parts: AdmissionParts): (path: string, metadata: Metadata) => Promise<null> {
  return async (path, metadata) => {
    if (isPublic(path)) return null;
    const rule = RULES.get(path);
    if (rule === undefined) throw new SvcError('forbidden');
    requireServed(rule, parts);
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

function bearerOf(metadata: Metadata): string {
  const token = bearerToken(single(metadata, 'authorization'));
  if (token !== undefined) return token;
  throw new SvcError('unauthenticated', 'a node token is needed in metadata authorization: expected Bearer TOKEN');
}
