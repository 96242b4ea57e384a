import type { ExecutionApi } from '../../../actors/execution/api.ts';
import type { NodePeerApi } from '../../../actors/node-peer/api.ts';
import type { NodeAdmission, NodeEnvelope, NodeIdentity, NodeProofs, NodeTokens } from '../../../security/api.ts';
import type { Admission } from '../../admission.ts';
import type { Health } from '../../health.ts';
import type { OpenStreams } from '../../open-streams.ts';
import type { ServerTls } from '../../tls.ts';
import type { GrpcLogger } from '../parts.ts';
import type { ClusterLimits } from './limits.ts';

/** Outcome of a pushed configuration; `reason` is shown to the controller that pushed it. */
export type Applied = { readonly accepted: true } | { readonly accepted: false; readonly reason: string };

/** What a node that runs executions offers to controllers. */
export interface ClusterWorker {
  readonly executions: ExecutionApi;
  /** Takes over the controller-managed sections, wholly or not at all; an older version than the one in force is not taken. */
  applyConfig(configYaml: string): Promise<Applied>;
}

/** What the server of the cluster port translates into calls of. */
export interface ClusterServerParts {
  readonly peers: NodePeerApi;
  readonly tokens: NodeTokens;
  /** Verifies token and signature of an envelope against the metadata `authorization`; throws `unauthenticated`. */
  openEnvelope(authorization: string | undefined, envelope: NodeEnvelope): Promise<NodeIdentity>;
  /** Checks what the envelope does not say: for which call, which node and which time it was made. */
  readonly proofs: NodeProofs;
  /** Null on a pure controller: ForwardExecution and PushConfig answer FAILED_PRECONDITION. */
  readonly worker: ClusterWorker | null;
  /** False on a pure worker: what only controllers do answers FAILED_PRECONDITION. */
  readonly controller: boolean;
  /** Who may be attested, and with what it may register. */
  readonly joins: Pick<NodeAdmission, 'admit' | 'requireScope'>;
  /** With it the port speaks TLS, and its authority says which clients it takes. */
  readonly tls: ServerTls | null;
  readonly health: Health;
  readonly logger: GrpcLogger;
  /** Without it no execution that is forwarded here is refused for its amount. */
  readonly admission?: Pick<Admission, 'enter'>;
  /** Whether an address is that of a container of agents, to be refused; absent: none is. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<ClusterLimits>;
}

/** The same with all defaults filled in, as methods get it. */
export interface ClusterParts extends ClusterServerParts {
  readonly limits: ClusterLimits;
  readonly streams: OpenStreams;
}
