import type { z } from 'zod';
import type { AgentCatalog, CatalogSearch, StimulusRoutes, WorkflowCatalog } from '../../catalog/api.ts';
import type { Patterns } from '../../catalog/patterns-api.ts';
import type { Identity } from '../../runtime/identity.ts';
import type {
  Action,
  ApiKeys,
  Caller,
  JoinTokens,
  RateOverrides,
  RateUsage,
  ScopeArea,
  SecretStore,
} from '../../security/api.ts';
import type { ApprovalApi } from '../approvals.ts';
import type { ExecutionApi } from '../executions.ts';
import type { ClusterApi } from '../ports/cluster.ts';
import type { ChaosApi } from '../ports/faults.ts';
import type { VolumeApi, VolumeFiles } from '../ports/volumes.ts';
import type { StartLimits } from '../starts/start-execution.ts';
import type { StimulusApi } from '../stimuli.ts';
import type { WorkflowApi } from '../workflow-runs.ts';

/** Workflows that are deployed, and their runs. */
export interface WorkflowParts {
  readonly catalog: WorkflowCatalog;
  readonly workflows: WorkflowApi;
}

/** Use cases behind the operations. A node without one does not serve the operations that need it. */
export interface OperationPorts extends StartLimits {
  readonly agents: AgentCatalog;
  /** Search over the catalog. */
  readonly search?: CatalogSearch;
  readonly executions: ExecutionApi;
  readonly workflows?: WorkflowParts;
  readonly approvals?: ApprovalApi;
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
  readonly cluster?: ClusterApi;
  readonly joinTokens?: JoinTokens;
  readonly chaos?: ChaosApi;
}

/** What a caller sends, by where it stands in an HTTP request. Other surfaces pass the same values by name. */
interface Schemas {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
}

/** One call of an operation: its checked input, who calls, and the trace it belongs to. */
export interface OperationCall<S extends Schemas = Schemas> {
  readonly params: S['params'] extends z.ZodType ? z.output<S['params']> : unknown;
  readonly query: S['query'] extends z.ZodType ? z.output<S['query']> : unknown;
  readonly headers: S['headers'] extends z.ZodType ? z.output<S['headers']> : unknown;
  readonly body: S['body'] extends z.ZodType ? z.output<S['body']> : unknown;
  readonly identity: Identity;
  /** The same with the API key by which the call came. */
  readonly caller: Caller;
  /** W3C trace id. */
  readonly trace: string;
}

/** How an operation is seen over REST. */
interface RestView {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Parameters as `:name`. */
  readonly path: string;
  /** `plain`: `{error: TEXT}` for 400, 404 and 500 (H1); `coded`: `{error: CODE, message}`. */
  readonly style: 'plain' | 'coded';
  /** Statuses of errors that only this operation has. */
  readonly also?: readonly number[];
  /** Texts that callers compare (H10, H12). */
  readonly texts?: { readonly notFound?: string; readonly bug?: string };
}

/** One thing a caller can ask, and how each surface shows it. Surfaces walk the table; they add no rule of their own. */
export interface Operation {
  /** `resource.verb`: the operationId of the API description. */
  readonly name: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** What the caller must be allowed to do. */
  readonly access: Action;
  /** What a key's scopes are compared with, where it is not `access` in the area of the path. */
  readonly scope?: { readonly area: ScopeArea; readonly action: Action };
  readonly needs: readonly (keyof OperationPorts)[];
  readonly input: Schemas;
  readonly answer: z.ZodType;
  readonly rest: RestView;
  /** Tool of the same use case (tools/management), commands of the CLI and method of gRPC, where there are any. */
  readonly tool?: string;
  readonly commands?: readonly string[];
  readonly grpc?: string;
  handle(ports: OperationPorts, call: OperationCall): Promise<unknown>;
}

/** The ports an operation needs are there when it is called. */
type Needed<N extends keyof OperationPorts> = OperationPorts & {
  readonly [K in N]-?: NonNullable<OperationPorts[K]>;
};

/** An entry of the table with the types of its own input and answer, checked where it is written. */
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
