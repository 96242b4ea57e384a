import { GRPC_LIMITS, type GrpcLimits } from '../limits.ts';

/** What one node may cost another over the cluster port. Every number is a setting. */
export interface ClusterLimits extends GrpcLimits {
  /** AttestNode and ChallengeNode under way at once, of all nodes; further ones are answered RESOURCE_EXHAUSTED. */
  readonly attestations: number;
  /** Largest request of a caller without a token, bytes. */
  readonly attestationBytes: number;
  /** Largest request of a node but ForwardExecution, whose manifest and input have `messageBytes`. */
  readonly controlBytes: number;
}

export const CLUSTER_LIMITS: ClusterLimits = {
  ...GRPC_LIMITS,
  descriptorShare: 0.05,
  attestations: 8_192,
  attestationBytes: 16 * 1024,
  controlBytes: 4 * 1024 * 1024,
};
