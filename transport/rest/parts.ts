import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { RuntimeTable } from '../../manifests/runtime-table/table.ts';
import type { Authenticator, NodeTokens, Webhooks } from '../../security/api.ts';
import type { CallerToolParts } from '../../usecases/caller-tools.ts';
import type { AuthorApi, IntentApi } from '../../usecases/management.ts';
import type { NodePeerApi } from '../../usecases/node-api.ts';
import type { OperationPorts } from '../../usecases/operations/operation.ts';
import type { SealParts } from '../../usecases/seal/parts.ts';
import type { Admission } from '../../usecases/starts/admission.ts';
import type { Health } from '../health.ts';
import type { OpenStreams } from '../open-streams.ts';
import type { ServerTls } from '../tls.ts';
import type { RestLimits } from './limits.ts';

/** Who may issue tokens for this node, and how others reach it. */
export interface ResourceParts {
  /** Issuers of the realms (`spec.iam.realms`); none: callers need no token. */
  readonly issuers: readonly string[];
  /** `spec.network.public_url`; absent: the host that the request was sent to. */
  readonly publicUrl?: string | undefined;
}

/** What /mcp translates into calls of. */
export type McpParts = CallerToolParts;

/** What the REST server translates into calls of. */
export interface RestServerParts extends OperationPorts {
  readonly authenticator: Authenticator;
  readonly logger: FastifyBaseLogger;
  /** Version of the product, shown in the API description. */
  readonly version: string;
  readonly health: Health;
  /** Registered peers, and the configuration controllers manage; without it /v1/cluster shows members alone. */
  readonly peers?: NodePeerApi;
  /** Without it there is no /.well-known/jwks.json. */
  readonly nodeTokens?: Pick<NodeTokens, 'keySet'>;
  /** Who signs webhooks, and how; without it there is no /v1/webhooks. */
  readonly webhooks?: Webhooks;
  /** Calls of tools by callers; without it there is no /mcp and no /v1/tools. */
  readonly mcp?: McpParts;
  /** Without it no new work is refused for its amount. */
  readonly admission?: Admission;
  /** Without it there is no /v1/seal and no /v1/invoke. */
  readonly seal?: SealParts;
  /** Without it there is no /v1/execute. */
  readonly intents?: IntentApi;
  /** Languages and versions of agents here; without it a deploy says nothing about them. */
  readonly runtimes?: RuntimeTable;
  /** Without it nothing is generated. */
  readonly authors?: AuthorApi;
  /** Origins whose pages may call (`spec.network.cors.allow`); absent: none. */
  readonly origins?: readonly string[];
  /** Without it, or without issuers, nothing says where tokens come from. */
  readonly resource?: ResourceParts;
  /** With it the address speaks https alone (`spec.network.tls`). */
  readonly tls?: ServerTls;
  /** Proxies in front of it (`spec.network.trust_proxy`): each may hold more connections than a client. */
  readonly proxies?: readonly string[];
  /** Whether an address is that of a container of agents, to be refused; absent: none is. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<RestLimits>;
}

/** The same with all defaults filled in, as routes get it. */
export interface RestParts extends RestServerParts {
  readonly limits: RestLimits;
  readonly streams: OpenStreams;
}

export type RestApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>;
