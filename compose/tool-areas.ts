import type { FastifyBaseLogger } from 'fastify';
import { createAttestApi } from '../actors/execution/attests.ts';
import type { DispatchApi } from '../actors/execution/dispatch-api.ts';
import { createToolSessionApi } from '../actors/tool-session/tool-sessions.ts';
import { TOOL_SESSIONS, type ToolSessionDocument } from '../actors/tool-session/view.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Blobs } from '../runtime/blobs.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import type { Random } from '../runtime/random.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createAgentTokens } from '../security/seal/agent-tokens.ts';
import { createAuditSigner } from '../security/seal/audit-signer.ts';
import { createSealEnvelopes } from '../security/seal/envelopes.ts';
import type { ToolDesk } from '../tools/api.ts';
import type { Admission } from '../transport/admission.ts';
import { createInternalGrpcServer } from '../transport/grpc/inner-loop/server.ts';
import { internalSealMethods } from '../transport/grpc/seal-methods.ts';
import type { Health } from '../transport/health.ts';
import { addMetrics, type NodeFigures } from '../transport/internal/metrics.ts';
import { createInternalServer } from '../transport/internal/server.ts';
import type { McpParts } from '../transport/mcp/parts.ts';
import { addSealRoutes } from '../transport/rest/routes/seal/index.ts';
import type { SealParts } from '../transport/seal/parts.ts';
import type { AgentAccess } from './agent-access.ts';
import type { Signing } from './signing.ts';

export interface ToolAreasParts {
  readonly runtime: Runtime;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly settings: NodeSettings;
  readonly signing: Signing;
  readonly desk: ToolDesk;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: Random;
}

/** The surfaces of tools: sessions, SEAL, /mcp. */
export async function openToolAreas(parts: ToolAreasParts): Promise<{ seal: SealParts; mcp: McpParts }> {
  const { runtime, documents, blobs, settings, signing, desk, clock, random, admission } = parts;
  const { client } = runtime;
  const collection = await documents.collection<ToolSessionDocument>(TOOL_SESSIONS);
  const sessions = createToolSessionApi({ client, sessions: collection, blobs });
  const tokens = createAgentTokens({ ...signing, clock, settings: settings.seal });
  const seal: SealParts = {
    ...{ attestation: createAttestApi({ client }), desk, sessions, tokens },
    envelopes: createSealEnvelopes({ tokens, clock }),
    signer: createAuditSigner({ ...signing, clock }),
    admission,
  };
  return { seal, mcp: { desk, sessions, clock, random, admission } };
}

/** The servers of the internal address (design S5): dispatch gateway and inner loop, attest and invoke beside them. */
export function createInternalServers(parts: {
  readonly seal: SealParts;
  readonly dispatch: DispatchApi;
  readonly access: AgentAccess;
  readonly logger: FastifyBaseLogger;
  readonly health: Health;
  /** Null where the settings turn /metrics off. */
  readonly metrics: NodeFigures | null;
}) {
  const { dispatch, logger, health, metrics } = parts;
  // What agents call is part of what runs.
  const { admission: _admission, ...seal } = parts.seal;
  const { tokens, networks } = parts.access;
  return {
    rest: createInternalServer({
      ...{ dispatch, tokens, logger, isOfAgents: networks.has },
      addSealRoutes: (app) => addSealRoutes(app, seal, { bearer: false, tokens }),
      ...(metrics === null ? {} : { addRoutes: (app) => addMetrics(app, metrics) }),
    }),
    grpc: createInternalGrpcServer({
      ...{ dispatch, tokens, logger, health },
      seal: internalSealMethods({ logger, tokens }, seal),
    }),
  };
}
