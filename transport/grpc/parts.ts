import type { Metadata } from '@grpc/grpc-js';
import type { AgentCatalog } from '../../catalog/api.ts';
import type { Patterns } from '../../catalog/patterns-api.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Authenticator, OperationAudit, RunningLimits, TierLimits } from '../../security/api.ts';
import type { ExecutionApi } from '../../usecases/executions.ts';
import type { JudgePanelApi } from '../../usecases/judge-panels.ts';
import type { CommandRunner } from '../../usecases/ports/commands.ts';
import type { SealParts } from '../../usecases/seal/parts.ts';
import type { Admission } from '../../usecases/starts/admission.ts';
import type { StartKeys } from '../../usecases/starts/start-keys.ts';
import type { StimulusApi } from '../../usecases/stimuli.ts';
import type { WorkflowApi } from '../../usecases/workflow-runs.ts';
import type { Health } from '../health.ts';
import type { OpenStreams } from '../open-streams.ts';
import type { ServerTls } from '../tls.ts';
import type { GrpcLimits } from './limits.ts';

/** The parts that the server for clients and the server for nodes share. */
export interface EndpointParts {
  /** Full names of the services of the methods, for health and reflection. */
  readonly services: readonly string[];
  /** Absent: plain text. */
  readonly tls?: ServerTls | undefined;
  readonly proxies?: readonly string[];
  /** Whether an address belongs to a container of agents and is refused. Absent: no address is. */
  readonly isOfAgents?: (address: string) => boolean;
  /**
   * Resolves with the caller, or with null for methods that need none. Throws to refuse a call before its message is
   * read. `authority`: `host:port`.
   */
  admit(path: string, metadata: Metadata, authority: string): Promise<Identity | null>;
  /** Whether an admitted call showed who its caller is. Absent: it did if it has an identity. */
  hasCaller?(path: string, metadata: Metadata): boolean;
  /** Largest message of an admitted call, bytes. Absent: `limits.messageBytes` for all methods that need a caller. */
  messageBytes?(path: string, metadata: Metadata): number;
  /**
   * Counts a call that brings new work until it is answered. Throws `overloaded`, before the caller is authenticated.
   */
  enter?(path: string): (() => void) | undefined;
  /** Records methods that change something, and denials. Absent: nothing is recorded. */
  readonly operationAudit?: OperationAudit;
  /** Trailers of every answer to a call of `path`, including errors. */
  trailers?(path: string): Readonly<Record<string, string>>;
  readonly logger: GrpcLogger;
  readonly health: Health;
  readonly limits: GrpcLimits;
  readonly streams: OpenStreams;
}

/** The settings `spec.grpc_auth` (G2). */
export interface GrpcAuth {
  /** False: calls without a token act as the local operator. Allowed only on loopback. */
  readonly enabled: boolean;
  /** Methods that need no token: `/package.Service/Method`. */
  readonly exempt_methods: readonly string[];
}

type Log = (fields: Readonly<Record<string, unknown>>, message: string) => void;

export interface GrpcLogger {
  readonly debug: Log;
  readonly warn: Log;
  readonly error: Log;
}

/** The ports of the gRPC server. */
export interface GrpcServerParts {
  readonly agents: AgentCatalog;
  readonly executions: ExecutionApi;
  /** Absent: `workflow_execution_id` of ExecuteAgent is not checked. */
  readonly workflows?: { readonly workflows: Pick<WorkflowApi, 'status'> };
  /** Absent: ValidateWithJudges is not served. */
  readonly judges?: JudgePanelApi;
  /** Absent: ExecuteSystemCommand is not served. */
  readonly commands?: CommandRunner;
  /** Absent: IngestStimulus is not served. */
  readonly stimuli?: StimulusApi;
  /** Absent: QueryMemoryPatterns and StoreMemoryPattern are not served. */
  readonly patterns?: Patterns;
  /** Absent: AttestAgent and InvokeTool are not served. */
  readonly seal?: SealParts;
  readonly authenticator: Authenticator;
  readonly auth: GrpcAuth;
  readonly operationAudit?: OperationAudit;
  readonly logger: GrpcLogger;
  /** Version of the product. */
  readonly version: string;
  readonly health: Health;
  /** Rates by tier. Absent: callers have no rate limits. */
  readonly tierLimits?: TierLimits;
  /** Limits of what a caller has running at once. Absent: no limits. */
  readonly runningLimits?: RunningLimits;
  /** Absent: a key is shared by its whole tenant and names the same id for ever. */
  readonly startKeys?: StartKeys;
  /** Absent: new work is never refused as `overloaded`. */
  readonly admission?: Admission;
  /** Set: the address accepts only TLS (`spec.network.tls`). */
  readonly tls?: ServerTls;
  /** Proxies in front of this address (`spec.network.trust_proxy`): each may hold more connections than a client. */
  readonly proxies?: readonly string[];
  /** Whether an address belongs to a container of agents and is refused. Absent: no address is. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<GrpcLimits>;
}

/** The same with all defaults filled in, for the methods. */
export interface GrpcParts extends GrpcServerParts {
  readonly limits: GrpcLimits;
  readonly streams: OpenStreams;
}
