import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import type { NodeOffer } from '../actors/execution/plan-execution.ts';
import { TOOL_SESSIONS, type ToolSessionDocument } from '../actors/tool-session/view.ts';
import type { NodeControls } from '../cluster/operations/node-controls.ts';
import { nodeVariables } from '../effects/agents/input.ts';
import { ContainerNetworks } from '../effects/containers/networks.ts';
import type { GatewayListener } from '../effects/programs/gateway-relay.ts';
import { isLoopback } from '../manifests/node/network.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { runtimeTable } from '../manifests/runtime-table/table.ts';
import type { OpenStores } from '../runtime/open-stores.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { ExecutionTokens } from '../security/api.ts';
import { createAgentTokens, createExecutionTokens } from '../security/seal/agent-tokens.ts';
import { createAuditSigner, createSealEnvelopes } from '../security/seal/envelopes.ts';
import { createInternalGrpcServer } from '../transport/grpc/inner-loop/server.ts';
import { internalSealMethods } from '../transport/grpc/seal-methods.ts';
import type { Health } from '../transport/health.ts';
import { addMetrics, type NodeFigures } from '../transport/internal/metrics.ts';
import { createInternalServer } from '../transport/internal/server.ts';
import type { McpParts } from '../transport/rest/parts.ts';
import { addSealRoutes } from '../transport/rest/routes/seal.ts';
import { createAttestApi } from '../usecases/attestation.ts';
import type { DispatchApi } from '../usecases/gateway.ts';
import type { ToolGranter } from '../usecases/ports/tool-granter.ts';
import type { SealParts } from '../usecases/seal/parts.ts';
import type { Admission } from '../usecases/starts/admission.ts';
import { createToolSessionApi } from '../usecases/tool-sessions.ts';
import type { Audit } from './audit.ts';
import type { Signing } from './fleet.ts';
import type { NodeContext } from './node-context.ts';

interface ToolAreasParts {
  readonly context: NodeContext;
  readonly stores: Pick<OpenStores, 'documents' | 'blobs'>;
  readonly runtime: Runtime;
  readonly signing: Signing;
  readonly audit: Audit;
  readonly granter: ToolGranter;
  readonly admission: Admission;
}

/** Opens the ways to call tools: sessions, SEAL, /mcp. */
export async function openToolAreas(parts: ToolAreasParts): Promise<{ seal: SealParts; mcp: McpParts }> {
  const { context, stores, runtime, signing, audit, granter, admission } = parts;
  const { settings, clock, random } = context;
  const { keys, published } = signing;
  const { client } = runtime;
  const collection = await stores.documents.collection<ToolSessionDocument>(TOOL_SESSIONS);
  const sessions = createToolSessionApi({ client, sessions: collection, blobs: stores.blobs });
  const tokens = createAgentTokens({ keys, published, clock, settings: settings.seal });
  const seal: SealParts = {
    attestation: createAttestApi({ client }),
    granter,
    sessions,
    tokens,
    envelopes: createSealEnvelopes({ tokens, clock }),
    signer: createAuditSigner({ keys, published, clock }),
    admission,
  };
  const toolNames = settings.mcp.tool_names;
  return { seal, mcp: { granter, sessions, random, admission, audit: audit.operations, toolNames } };
}

/** Creates the servers of the internal address (S5): dispatch gateway, inner loop, attest and invoke. */
export function createInternalServers(parts: {
  readonly seal: SealParts;
  readonly dispatch: DispatchApi;
  readonly access: AgentAccess;
  readonly logger: FastifyBaseLogger;
  readonly health: Health;
  /** Null when the settings turn /metrics off. */
  readonly metrics: NodeFigures | null;
}) {
  const { dispatch, logger, health, metrics } = parts;
  // Calls of agents belong to runs that were already admitted, so they bypass admission.
  const { admission: _admission, ...seal } = parts.seal;
  const { tokens, networks } = parts.access;
  return {
    rest: createInternalServer({
      dispatch,
      tokens,
      logger,
      isOfAgents: networks.has,
      addSealRoutes: (app) => addSealRoutes(app, seal, { bearer: false, tokens }),
      addRoutes: metrics === null ? undefined : (app) => addMetrics(app, metrics),
    }),
    grpc: createInternalGrpcServer({
      dispatch,
      tokens,
      logger,
      health,
      seal: internalSealMethods({ logger, tokens }, seal),
    }),
  };
}

/** How agents' programs and containers reach this node's internal listener (S5). */
export interface AgentAccess {
  readonly tokens: ExecutionTokens;
  /** Container networks. From these the listeners accept only calls of agents. */
  readonly networks: ContainerNetworks;
  /** `http://HOST:PORT`; null before the server listens. */
  url(): string | null;
  /** The environment of one execution's program, with its capability token, which must not appear in any output. */
  variables(execution: {
    readonly tenant: string;
    readonly executionId: string;
    readonly lastsMs: number;
    /** True: the program reaches the gateway on its own loopback and has no other network. */
    readonly relayed: boolean;
  }): Promise<{
    readonly variables: Readonly<Record<string, string>>;
    readonly secrets: readonly string[];
    /** Null before the server listens. */
    readonly listener: GatewayListener | null;
  }>;
  /** Sets the listener's URL. `accept` serves a connection of a program that is in no network of this machine. */
  listensAt(url: string, accept: (connection: Socket) => void): void;
}

/** How long the token outlives the program, ms: its last call may still run. */
const MARGIN_MS = 60_000;

export function openAgentAccess({
  context,
  signing,
}: {
  readonly context: Pick<NodeContext, 'settings' | 'clock'>;
  readonly signing: Signing;
}): AgentAccess {
  const { settings, clock } = context;
  const { keys, published } = signing;
  const tokens = createExecutionTokens({ keys, published, clock, settings: settings.seal });
  let listening: string | null = null;
  let listener: GatewayListener | null = null;
  const url = (): string | null => (listening === null ? null : (settings.runtime.orchestrator_url ?? listening));
  return {
    tokens,
    networks: new ContainerNetworks({ onLoopback: listensOnLoopback(settings) }),
    url,
    async variables({ tenant, executionId, lastsMs, relayed }) {
      const token = await tokens.issue({ tenant, executionId, expiresAt: clock.now() + lastsMs + MARGIN_MS });
      const inside = listener === null ? null : `http://127.0.0.1:${listener.port}`;
      return { variables: nodeVariables({ url: relayed ? inside : url(), token }), secrets: [token], listener };
    },
    listensAt(address, accept) {
      listening = address;
      listener = { port: Number(new URL(address).port), accept };
    },
  };
}

function listensOnLoopback({ network, cluster }: NodeSettings): boolean {
  return [network.bind, network.internal.bind, cluster.bind ?? network.bind].every(isLoopback);
}

/** The offer of this node to executions that start on it. Logs deprecated runtimes (W41). */
export function executionOffer({
  settings,
  controls,
  log,
}: {
  readonly settings: NodeSettings;
  readonly controls: Pick<NodeControls, 'isolation'>;
  readonly log: { warn(about: object, message: string): void };
}): () => NodeOffer {
  const runtimes = runtimeTable(settings.runtime.containers.runtimes);
  return () => ({
    isolation: controls.isolation,
    runtimes,
    onDeprecated({ agentId, executionId }, { language, version }) {
      log.warn({ agent: agentId, execution: executionId }, `runtime ${language} ${version} is deprecated`);
    },
  });
}
