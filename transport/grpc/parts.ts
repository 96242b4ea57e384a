import type { Metadata } from '@grpc/grpc-js';
import type { AgentCatalog } from '../../catalog/api.ts';
import type { Patterns } from '../../catalog/patterns-api.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Authenticator, RunningLimits, TierLimits } from '../../security/api.ts';
import type { ExecutionApi } from '../../usecases/executions.ts';
import type { JudgePanelApi } from '../../usecases/judge-panels.ts';
import type { CommandRunner } from '../../usecases/ports/commands.ts';
import type { SealParts } from '../../usecases/seal/parts.ts';
import type { Admission } from '../../usecases/starts/admission.ts';
import type { StartKeys } from '../../usecases/starts/start-keys.ts';
import type { StimulusApi } from '../../usecases/stimuli.ts';
import type { Health } from '../health.ts';
import type { OpenStreams } from '../open-streams.ts';
import type { ServerTls } from '../tls.ts';
import type { GrpcLimits } from './limits.ts';

/** What both ports, of clients and of nodes, are made of. */
export interface EndpointParts {
  /** Full names of the services the methods belong to: what health and reflection tell of. */
  readonly services: readonly string[];
  /** Absent: plain text. */
  readonly tls?: ServerTls | undefined;
  readonly proxies?: readonly string[];
  /** Whether an address is that of a container of agents, to be refused; absent: none is. */
  readonly isOfAgents?: (address: string) => boolean;
  /** Who calls, or null where that is nobody's business; throws for a call that is refused unread. `authority`: `host:port`. */
  admit(path: string, metadata: Metadata, authority: string): Promise<Identity | null>;
  /** Largest message of a call that was admitted; absent: `limits.messageBytes` for all that ask for a caller. */
  messageBytes?(path: string, metadata: Metadata): number;
  /** Counts a call that brings new work until it is answered; throws `overloaded`, before it is known who calls. */
  enter?(path: string): (() => void) | undefined;
  /** Trailers of every answer to a call of `path`, refusals included. */
  trailers?(path: string): Readonly<Record<string, string>>;
  readonly logger: GrpcLogger;
  readonly health: Health;
  readonly limits: GrpcLimits;
  readonly streams: OpenStreams;
}

/** `spec.grpc_auth` (G2). */
export interface GrpcAuth {
  /** False: calls without a token act as the local operator; only loopback may be like that. */
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

/** What the gRPC server translates into calls of. */
export interface GrpcServerParts {
  readonly agents: AgentCatalog;
  readonly executions: ExecutionApi;
  /** Without it ValidateWithJudges is not served. */
  readonly judges?: JudgePanelApi;
  /** Without it ExecuteSystemCommand is not served. */
  readonly commands?: CommandRunner;
  /** Without it IngestStimulus is not served. */
  readonly stimuli?: StimulusApi;
  /** Without it QueryMemoryPatterns and StoreMemoryPattern are not served. */
  readonly patterns?: Patterns;
  /** Without it AttestAgent and InvokeTool are not served. */
  readonly seal?: SealParts;
  readonly authenticator: Authenticator;
  readonly auth: GrpcAuth;
  readonly logger: GrpcLogger;
  /** Version of the product. */
  readonly version: string;
  readonly health: Health;
  /** Rates of callers' tiers; without it nobody has any. */
  readonly tierLimits?: TierLimits;
  /** How much callers may have running at once; without it as much as they like. */
  readonly runningLimits?: RunningLimits;
  /** Without it a key belongs to its tenant and names one id for ever. */
  readonly startKeys?: StartKeys;
  /** Without it no new work is refused for its amount. */
  readonly admission?: Admission;
  /** With it the address speaks TLS alone (`spec.network.tls`). */
  readonly tls?: ServerTls;
  /** Proxies in front of it (`spec.network.trust_proxy`): each may hold more connections than a client. */
  readonly proxies?: readonly string[];
  /** Whether an address is that of a container of agents, to be refused; absent: none is. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<GrpcLimits>;
}

/** The same with all defaults filled in, as methods get it. */
export interface GrpcParts extends GrpcServerParts {
  readonly limits: GrpcLimits;
  readonly streams: OpenStreams;
}
