import type { z } from 'zod';
import type { AgentCatalog, CatalogSearch, StimulusRoutes, WorkflowCatalog } from '../../catalog/api.ts';
import type { Patterns } from '../../catalog/patterns-api.ts';
import type { Identity } from '../../runtime/identity.ts';
import type {
  Action,
  ApiKeys,
  AuditReader,
  Caller,
  JoinTokens,
  RateOverrides,
  RateUsage,
  ScopeArea,
  SecretKeys,
  SecretStore,
} from '../../security/api.ts';
import type { ApprovalApi } from '../approvals.ts';
import type { ExecutionApi } from '../executions.ts';
import type { ManagedProvidersApi } from '../managed-providers.ts';
import type { ClusterApi } from '../ports/cluster.ts';
import type { ChaosApi } from '../ports/faults.ts';
import type { VolumeApi, VolumeFiles } from '../ports/volumes.ts';
import type { ForkApi } from '../runs/fork-source.ts';
import type { RunsApi } from '../runs/list-runs.ts';
import type { StartLimits } from '../starts/start-execution.ts';
import type { StimulusApi } from '../stimuli.ts';
import type { ActorHistoryApi } from '../traces/actor-history.ts';
import type { ActorReads } from '../traces/actors.ts';
import type { DeadLetterApi } from '../traces/dead-letters.ts';
import type { MessageApi } from '../traces/messages.ts';
import type { RecordingApi } from '../traces/recordings.ts';
import type { TapApi } from '../traces/tap.ts';
import type { TraceApi } from '../traces/traces.ts';
import type { ActorMailboxApi } from '../traces/waiting-messages.ts';
import type { WhyApi } from '../why/why.ts';
import type { WorkflowApi } from '../workflow-runs.ts';

/** Deployed workflows and their runs. */
interface WorkflowParts {
  readonly catalog: WorkflowCatalog;
  readonly workflows: WorkflowApi;
}

/** Use cases that operations call. A node without one of them does not serve the operations that need it. */
export interface OperationPorts extends StartLimits {
  readonly agents: AgentCatalog;
  /** Search over the catalog. */
  readonly search?: CatalogSearch;
  readonly executions: ExecutionApi;
  /** Reads for recordings of runs. */
  readonly recordings?: RecordingApi;
  /** Explanations of runs. */
  readonly why?: WhyApi;
  readonly workflows?: WorkflowParts;
  readonly approvals?: ApprovalApi;
  /** The list of all runs. */
  readonly runs?: RunsApi;
  /** Reads with which forks of runs begin. */
  readonly forks?: ForkApi;
  readonly stimuli?: StimulusApi;
  /** Direct routes of stimuli. */
  readonly stimulusRoutes?: StimulusRoutes;
  readonly volumes?: VolumeApi & { readonly files: VolumeFiles };
  /** Learned patterns. */
  readonly patterns?: Patterns;
  readonly keys?: ApiKeys;
  readonly rateOverrides?: RateOverrides;
  readonly rateUsage?: RateUsage;
  readonly secretStore?: SecretStore;
  readonly secretKeys?: SecretKeys;
  readonly cluster?: ClusterApi;
  readonly joinTokens?: JoinTokens;
  /** Providers of models for all nodes. */
  readonly providers?: ManagedProvidersApi;
  readonly chaos?: ChaosApi;
  /** Single actors, read by address. */
  readonly actors?: ActorReads;
  /** The messages that wait for them. */
  readonly actorMailbox?: ActorMailboxApi;
  /** Their history, from the ledger. */
  readonly actorHistory?: ActorHistoryApi;
  readonly deadLetters?: DeadLetterApi;
  readonly traces?: TraceApi;
  readonly messages?: MessageApi;
  readonly tap?: TapApi;
  /** The node shows a recording: callers may read, and no more. */
  readonly isReadOnly?: boolean;
  /** The audit of operations. */
  readonly audit?: AuditReader;
}

/** Schemas of a caller's input, by its place in an HTTP request. Other transports pass the same values by name. */
interface Schemas {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
}

/** One call of an operation: its validated input, its caller and its trace. */
interface OperationCall<S extends Schemas = Schemas> {
  readonly params: S['params'] extends z.ZodType ? z.output<S['params']> : unknown;
  readonly query: S['query'] extends z.ZodType ? z.output<S['query']> : unknown;
  readonly headers: S['headers'] extends z.ZodType ? z.output<S['headers']> : unknown;
  readonly body: S['body'] extends z.ZodType ? z.output<S['body']> : unknown;
  readonly identity: Identity;
  /** The identity with the API key of the call, if it has one. */
  readonly caller: Caller;
  /** W3C trace id. */
  readonly trace: string;
}

/** How REST serves an operation. */
interface RestView {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path with parameters as `:name`. */
  readonly path: string;
  /** `plain`: `{error: TEXT}` for 400, 404 and 500 (H1); `coded`: `{error: CODE, message}`. */
  readonly style: 'plain' | 'coded';
  /** A start that failed is 500 with its text, as the specification says, and its code (H12). */
  readonly starts?: true;
  /** Statuses of errors that only this operation has. */
  readonly also?: readonly number[];
  /** Fixed texts that clients compare (H10, H12). */
  readonly texts?: { readonly notFound?: string; readonly bug?: string };
}

/**
 * One operation that callers can call, and how each transport serves it. Transports read the table and add no rules.
 */
export interface Operation {
  /** `resource.verb`: the operationId of the API description. */
  readonly name: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** The right that the caller needs. */
  readonly access: Action;
  /** The scope that a key needs. Absent: `access` in the area of the path; `any`: every key may call it. */
  readonly scope?: { readonly area: ScopeArea; readonly action: Action } | 'any';
  /** Also for consumers of a paid tier, who keep volumes in their own tenant. */
  readonly forKeepers?: true;
  readonly needs: readonly (keyof OperationPorts)[];
  readonly input: Schemas;
  readonly answer: z.ZodType;
  readonly rest: RestView;
  /** The tool (tools/management), the CLI commands and the gRPC method of the same use case, if there are any. */
  readonly tool?: string;
  readonly commands?: readonly string[];
  readonly grpc?: string;
  handle(ports: OperationPorts, call: OperationCall): Promise<unknown>;
}

/** The ports, in which those that an operation needs are present. */
type Needed<N extends keyof OperationPorts> = OperationPorts & {
  readonly [K in N]-?: NonNullable<OperationPorts[K]>;
};

/** An operation with the types of its own input and answer, so that the compiler checks its handler. */
interface Entry<S extends Schemas, A extends z.ZodType, N extends keyof OperationPorts>
  extends Omit<Operation, 'needs' | 'input' | 'answer' | 'handle'> {
  readonly needs: readonly N[];
  readonly input: S;
  readonly answer: A;
  handle(ports: Needed<N>, call: OperationCall<S>): Promise<z.input<A>>;
}

export const operation = <S extends Schemas, A extends z.ZodType, const N extends keyof OperationPorts>(
  entry: Entry<S, A, N>,
): Operation => entry;
