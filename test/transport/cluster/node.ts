import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { execution } from '../../../actors/execution/definition.ts';
import { nodeActors } from '../../../actors/node-peer/definition.ts';
import { createAgentCatalog } from '../../../catalog/agent-catalog.ts';
import { createModelEffect } from '../../../effects/models/model-effect.ts';
import { ModelSelection, ProviderConfig } from '../../../manifests/node/models.ts';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import { openStores } from '../../../runtime/open-stores.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { startRuntime } from '../../../runtime/runtime.ts';
import { createAuthenticator } from '../../../security/authenticator.ts';
import { openJoinTokens } from '../../../security/join-tokens/join-tokens.ts';
import { openNodeAdmission } from '../../../security/join-tokens/node-admission.ts';
import { createFileKeys } from '../../../security/keys/file-keys.ts';
import { createPublishedKeys } from '../../../security/keys/published-keys.ts';
import { openNodeEnvelope } from '../../../security/node-envelope.ts';
import { createProofGuard } from '../../../security/node-proofs/guard.ts';
import { openPins } from '../../../security/node-proofs/proof.ts';
import { createNodeTokens } from '../../../security/node-tokens.ts';
import type { Applied, ClusterServerParts } from '../../../transport/grpc/cluster/envelope.ts';
import { createClusterServer } from '../../../transport/grpc/cluster/server.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import { createExecutionApi, EXECUTIONS, type ExecutionDocument } from '../../../usecases/executions.ts';
import { createNodePeerApi } from '../../../usecases/nodes.ts';

const SCRIPT = `
rules:
  - match: {contains: fail}
    reply: {text: "no"}
  - reply: {text: "seven times seven", chunks: 3}
`;

interface FleetNodeOptions
  extends Partial<Pick<ClusterServerParts, 'tls' | 'limits' | 'controller' | 'admission' | 'operationAudit'>> {
  readonly challengeTtlMs?: number;
  readonly nodeId?: string;
  readonly joinToken?: string | null;
  readonly requireJoinToken?: boolean;
  /** What join tokens are compared with. */
  readonly now?: () => number;
  readonly requireProof?: boolean;
  /** What proofs are compared with. */
  readonly clock?: Clock;
  /** Its data directory. Default: a directory that is removed with the node. */
  readonly keptIn?: string;
  /** False: a pure controller. */
  readonly worker?: boolean;
}

/**
 * A node that is controller and worker, of the product's own parts: actors on SQLite files, signing keys, envelopes,
 * the scripted model, and both gRPC ports on real sockets.
 */
export async function fleetNode(options: FleetNodeOptions = {}) {
  const {
    challengeTtlMs,
    nodeId = 'node-1',
    requireProof = false,
    requireJoinToken = false,
    worker = true,
    controller = true,
    joinToken = null,
    tls = null,
    limits = {},
    admission,
    operationAudit,
  } = options;
  const directory = options.keptIn ?? (await mkdtemp(join(tmpdir(), 'svc-cluster-')));
  const script = join(directory, 'answers.yaml');
  await writeFile(script, SCRIPT);
  const logged: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) });
  const stores = await openStores({ dataDir: directory, warn: (message, error) => logger.error({ error }, message) });
  const models = [{ alias: 'default', model: 'demo' }];
  const runtime = await startRuntime({
    ...stores,
    definitions: [execution, ...nodeActors(challengeTtlMs === undefined ? {} : { challengeTtlMs })],
    handlers: [
      createModelEffect({
        providers: [ProviderConfig.parse({ name: 'demo', type: 'scripted', script, models })],
        selection: ModelSelection.parse({}),
        secrets: { resolve: async (_tenant: string, reference: string) => reference },
      }),
    ],
    node: nodeId,
    settings: { partitions: 4, systemPartitions: 4, pollMs: 50 },
    warn: (message, error) => logger.error({ error }, message),
  });
  const { client } = runtime;
  const executions = createExecutionApi({
    client,
    executions: await stores.documents.collection<ExecutionDocument>(EXECUTIONS),
    removals: runtime.removals,
  });
  const keys = createFileKeys({ directory: join(directory, 'keys'), rotateAfterDays: 30, clock: systemClock });
  await keys.open();
  const published = createPublishedKeys({ documents: stores.documents, clock: systemClock });
  const tokens = createNodeTokens({ keys, published, clock: systemClock });
  const applied: string[] = [];
  const applyConfig = async (yaml: string): Promise<Applied> => {
    if (!yaml.includes('spec:')) return { accepted: false, reason: 'spec: required' };
    applied.push(yaml);
    return { accepted: true };
  };
  const health = { ready: async () => ({ ready: true }) };
  const peers = createNodePeerApi({ client, random: systemRandom, randomBytes });
  const audited: Readonly<Record<string, string>>[] = [];
  const audit = (event: Readonly<Record<string, string>>): void => void audited.push(event);
  const joinClock = { ...systemClock, now: options.now ?? systemClock.now };
  const joinParts = { documents: stores.documents, clock: joinClock, random: systemRandom, audit };
  const joinTokens = await openJoinTokens(joinParts);
  const joins = await openNodeAdmission({
    ...joinParts,
    required: requireJoinToken || joinToken !== null,
    joinToken: async () => joinToken,
  });
  const pins = await openPins({ documents: stores.documents, clock: systemClock });
  const partsAs = (name: string, clock: Clock, required = requireProof): ClusterServerParts => ({
    peers,
    tokens,
    openEnvelope: (authorization, envelope) => openNodeEnvelope({ tokens }, authorization, envelope),
    proofs: createProofGuard({ node: name, pins, required, clock }),
    worker: worker ? { executions, applyConfig } : null,
    controller,
    joins,
    tls,
    health,
    logger,
    ...(admission === undefined ? {} : { admission }),
    ...(operationAudit === undefined ? {} : { operationAudit }),
    limits: { closeGraceMs: 500, ...limits },
  });
  const servers = [createClusterServer(partsAs(nodeId, options.clock ?? systemClock))];
  const [server] = servers;
  assert.ok(server !== undefined);
  const agents = await createAgentCatalog({ documents: stores.documents, clock: systemClock, random: systemRandom });
  const runtimeServer = createGrpcServer({
    agents,
    executions,
    authenticator: createAuthenticator({ realms: [] }),
    auth: { enabled: false, exempt_methods: [] },
    logger,
    version: 'test',
    health,
    limits: { closeGraceMs: 500 },
  });
  const earlier = { ...systemClock, now: () => Date.now() - 7_200_000 };
  return {
    address: await server.listen('127.0.0.1', 0),
    runtimeAddress: await runtimeServer.listen('127.0.0.1', 0),
    nodeId,
    joinTokens,
    joins,
    audited,
    keys,
    /** Another node of the fleet, or this one after a restart: it shares the stores. */
    async listenAs(name: string, required = requireProof): Promise<string> {
      const another = createClusterServer(partsAs(name, options.clock ?? systemClock, required));
      servers.push(another);
      return another.listen('127.0.0.1', 0);
    },
    peers,
    pins,
    tokens,
    /** Makes tokens, with the same keys, that expired an hour ago. */
    pastTokens: createNodeTokens({ keys, published, clock: earlier }),
    agents,
    executions,
    /** Configurations that the node has applied. */
    applied,
    logged,
    async [Symbol.asyncDispose]() {
      await Promise.all([...servers, runtimeServer].map((one) => one.close()));
      await runtime.stop();
      await keys.close();
      await stores.close();
      if (options.keptIn === undefined) await rm(directory, { recursive: true, force: true });
      const errors = logged.filter((line) => JSON.parse(line).level >= 50);
      assert.deepEqual(errors, []);
    },
  };
}

export type FleetNode = Awaited<ReturnType<typeof fleetNode>>;
