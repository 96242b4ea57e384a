import type { Random } from '../../runtime/random.ts';
import type { NodePeerApi } from './api.ts';
import { attestation } from './attestation.ts';
import { membership } from './membership.ts';
import { operations } from './operations.ts';
import { type NodePeerClient, peerCalls } from './peer-calls.ts';
import { rosterReads } from './roster-reads.ts';

/** `NodePeerApi` over messages and committed states. Keeps nothing itself: every controller has one of its own. */
export function createNodePeerApi(parts: {
  readonly client: NodePeerClient;
  readonly random: Pick<Random, 'uuid'>;
  /** A cryptographic source: nonces come from it. */
  readonly randomBytes: (size: number) => Uint8Array;
}): NodePeerApi {
  const calls = peerCalls(parts.client, parts.random);
  return {
    ...attestation(calls, parts.randomBytes),
    ...membership(calls),
    ...rosterReads(calls),
    ...operations(calls),
  };
}
