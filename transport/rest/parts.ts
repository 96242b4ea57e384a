import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { KnownToDeploy } from '../../catalog/manifest-reading.ts';
import type { RuntimeTable } from '../../manifests/runtime-table/table.ts';
import type { Authenticator, NodeTokens, OperationAudit, Webhooks } from '../../security/api.ts';
import type { CallerToolParts } from '../../usecases/caller-tools.ts';
import type { FeedApi } from '../../usecases/feed/feed.ts';
import type { AuthorApi, IntentApi } from '../../usecases/management.ts';
import type { NodePeerApi } from '../../usecases/node-api.ts';
import type { OperationPorts } from '../../usecases/operations/operation.ts';
import type { SealParts } from '../../usecases/seal/parts.ts';
import type { Admission } from '../../usecases/starts/admission.ts';
import type { Health } from '../health.ts';
import type { HttpMeter } from '../http-meter.ts';
import type { ToolNaming } from '../mcp/tool-aliases.ts';
import type { OpenStreams } from '../open-streams.ts';
import type { ServerTls } from '../tls.ts';
import type { ApiDescription } from './api-description.ts';
import type { RestLimits } from './limits.ts';
import type { ShownRecording } from './read-only.ts';

/** The issuers of tokens for this node, and the node's public address. */
export interface ResourceParts {
  /** Issuers of the realms (`spec.iam.realms`). Empty: callers need no token. */
  readonly issuers: readonly string[];
  /** `spec.network.public_url`. Absent: the host of the request. */
  readonly publicUrl?: string | undefined;
}

/** The dashboard: its files, and how its pages sign in. */
export interface DashboardParts {
  /** Where `dashboard/build.ts` wrote it; may be missing. */
  readonly directory: string;
  /** `oidc`: at the identity provider; `token`: with a token that the user pastes; `none`: every caller is the operator. */
  readonly signIn: 'oidc' | 'token' | 'none';
  readonly oidc?: { readonly issuer: string; readonly client_id: string; readonly scopes: readonly string[] };
  /** Claim of tokens that holds the roles (`spec.iam.claims.role`): pages do not offer what the role may not do. */
  readonly roleClaim: string;
}

/** The ports of /mcp. */
export interface McpParts extends CallerToolParts {
  /** How tools are named in `tools/list` (`spec.mcp.tool_names`). Absent: without dots. */
  readonly toolNames?: ToolNaming;
}

/** The ports of the REST server. */
export interface RestServerParts extends OperationPorts {
  readonly authenticator: Authenticator;
  readonly logger: FastifyBaseLogger;
  /** Records operations that change something, and denials. Absent: nothing is recorded. */
  readonly operationAudit?: OperationAudit;
  /** Version of the product, shown in the API description. */
  readonly version: string;
  readonly health: Health;
  /** Registered peers and the controller-managed configuration. Absent: /v1/cluster shows only members. */
  readonly peers?: NodePeerApi;
  /** Absent: /.well-known/jwks.json is not served. */
  readonly nodeTokens?: Pick<NodeTokens, 'keySet'>;
  /** Verifies the signatures of webhooks. Absent: /v1/webhooks is not served. */
  readonly webhooks?: Webhooks;
  /** Tool calls by callers. Absent: /mcp and /v1/tools are not served. */
  readonly mcp?: McpParts;
  /** Absent: /v1/feed is not served. */
  readonly feed?: FeedApi;
  /** Absent: calls are not counted. */
  readonly meter?: HttpMeter | undefined;
  /** Absent: new work is never refused as `overloaded`. */
  readonly admission?: Admission;
  /** Absent: /v1/seal and /v1/invoke are not served. */
  readonly seal?: SealParts;
  /** Absent: /v1/execute is not served. */
  readonly intents?: IntentApi;
  /** Languages and versions that agents may use on this node. Absent: a deploy does not check them. */
  readonly runtimes?: RuntimeTable;
  /** Aliases of the models that live nodes have. Absent or empty: a deploy does not check them. */
  readonly models?: () => readonly string[];
  /** The node's settings for volumes. Absent: a deploy of an agent does not warn of sizes. */
  readonly storage?: KnownToDeploy['storage'];
  /** Absent: the generate routes are not served. */
  readonly authors?: AuthorApi;
  /** Origins whose pages may call (`spec.network.cors.allow`). Absent: none. */
  readonly origins?: readonly string[];
  /** Absent or without issuers: no answer names the issuers of tokens. */
  readonly resource?: ResourceParts;
  /** Set: the address accepts only https (`spec.network.tls`). */
  readonly tls?: ServerTls;
  /** Proxies in front of this address (`spec.network.trust_proxy`): each may hold more connections than a client. */
  readonly proxies?: readonly string[];
  /** Whether an address belongs to a container of agents and is refused. Absent: no address is. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<RestLimits>;
  /** Set: the node shows this recorded run, and every call that could change something is refused. */
  readonly recording?: ShownRecording;
  /** Absent: no dashboard is served. */
  readonly dashboard?: DashboardParts;
}

/** The same with all defaults filled in, for the routes. */
export interface RestParts extends RestServerParts {
  readonly limits: RestLimits;
  readonly streams: OpenStreams;
  readonly description: ApiDescription;
}

export type RestApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>;
