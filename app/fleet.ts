import { randomBytes } from 'node:crypto';
import { type ClusterNode, joinFleet, openClusterNode } from '../cluster/cluster-node.ts';
import type { NodeControls } from '../cluster/operations/node-controls.ts';
import { openOperations } from '../cluster/operations/open-operations.ts';
import type { FleetPlacement } from '../cluster/placement/fleet-placement.ts';
import { findEngine } from '../effects/containers/engine-error.ts';
import { LiveTargets } from '../effects/models/targets.ts';
import type { WorkerCalls } from '../effects/starts/forward-execution.ts';
import { capabilitiesOf } from '../manifests/node/capabilities.ts';
import type { ManagedProvider } from '../manifests/node/managed-providers.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { plainObject } from '../runtime/json.ts';
import { foundOrNull } from '../runtime/kit/found.ts';
import { Lazy } from '../runtime/kit/lazy.ts';
import { isInstalled, requirePackages } from '../runtime/kit/optional-packages.ts';
import type { Members } from '../runtime/members.ts';
import type { OpenStores } from '../runtime/open-stores.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { FORMAT, VERSION } from '../runtime/store-formats.ts';
import type { JoinTokens, SigningKeys } from '../security/api.ts';
import { openJoinTokens } from '../security/join-tokens/join-tokens.ts';
import { openNodeAdmission } from '../security/join-tokens/node-admission.ts';
import { createSigningKeys } from '../security/keys/open-keys.ts';
import { createPublishedKeys, type PublishedKeys } from '../security/keys/published-keys.ts';
import { openPins } from '../security/node-proofs/proof.ts';
import { createManagedProviders } from '../usecases/managed-providers.ts';
import type { NodePeerApi } from '../usecases/node-api.ts';
import { createNodePeerApi } from '../usecases/nodes.ts';
import type { NodeContext } from './node-context.ts';

const hasEngine = ({ settings, env }: NodeContext): boolean =>
  findEngine({ configured: settings.runtime.container_socket_path, env }) !== null;

export type NodeModels = ReturnType<typeof openModels>;

/**
 * The models of this node: those of its settings, and those that controllers manage. A managed provider whose packages are
 * not installed here is skipped, so calls go to nodes that have them. Throws `invalid_config` for the node's own.
 */
export function openModels(context: NodeContext) {
  const { settings, logger } = context;
  for (const { name, type, enabled } of settings.llm_providers)
    if (enabled) requirePackages(type, `the provider "${name}" of spec.llm_providers`);
  const targets = new LiveTargets(settings.llm_providers, settings.llm_selection);
  const isUsable = ({ name: provider, type, enabled }: ManagedProvider): boolean => {
    if (!enabled || isInstalled(type)) return true;
    logger.warn({ provider, type }, 'a managed provider is not used: its packages are not installed on this node');
    return false;
  };
  return {
    targets,
    /** Uses these providers besides the node's own; returns the capabilities of the node with them. */
    manage(providers: readonly ManagedProvider[]): readonly string[] {
      const usable = providers.filter(isUsable);
      targets.manage(usable);
      return capabilitiesOf(settings, hasEngine(context), usable);
    },
  };
}

/** Joins the fleet: placement and failure detector of this node. */
export function openMembership({ context, members }: { readonly context: NodeContext; readonly members: Members }) {
  const { settings, node, clock, random, warn } = context;
  const { cluster, stores, kernel } = settings;
  return joinFleet({
    node,
    members,
    info: {
      role: cluster.role,
      tags: settings.node.tags,
      exclusive: settings.node.exclusive,
      capabilities: [...capabilitiesOf(settings, hasEngine(context))],
      weight: settings.node.weight,
      version: VERSION,
      format: FORMAT,
    },
    leaseTtlMs: kernel.lease_ttl_ms,
    livenessHost: stores.redis === undefined ? null : clusterHost(settings),
    advertiseHost: cluster.advertise_host,
    clock,
    random,
    warn,
  });
}

/** Address that the ports for other nodes bind to. */
export const clusterHost = ({ cluster, network }: NodeSettings): string => cluster.bind ?? network.bind;

interface ClusterParts {
  readonly context: NodeContext;
  readonly stores: Pick<OpenStores, 'store' | 'documents' | 'refusal'>;
  readonly signing: Signing;
  readonly runtime: Runtime;
  readonly placement: FleetPlacement;
  readonly controls: NodeControls;
}

const NOT_ENABLED = { accepted: false, reason: 'spec.cluster.enabled is false on this node' };

export type Cluster = Awaited<ReturnType<typeof openCluster>>;

/**
 * This node's part in the fleet: registered peers, join tokens, operations, and with `spec.cluster.enabled` its calls to
 * other nodes. Throws `invalid_config`.
 */
export async function openCluster(parts: ClusterParts) {
  const { context, stores, runtime, placement, controls } = parts;
  const { settings, node, clock, random, warn } = context;
  await using opened = new AsyncDisposableStack();
  const { peers, joinTokens, clusterNode } = await openPeers(parts);
  opened.defer(async () => clusterNode?.close());
  const operations = await openOperations({
    settings,
    node,
    stores,
    fleet: placement,
    runtime,
    controls,
    clock,
    random,
    warn,
    peers: () => peers.list(),
    onDrained: () => clusterNode?.heartbeatNow(),
    push: (id, address) => clusterNode?.push(id, address) ?? Promise.resolve(NOT_ENABLED),
  });
  opened.defer(async () => operations.close());
  const open = opened.move();
  return {
    peers,
    joinTokens,
    clusterNode,
    workers: workerCalls(peers, clusterNode),
    cluster: operations.cluster,
    providers: createManagedProviders({
      peers,
      push: () => operations.cluster.pushConfig(),
      isManaged: clusterNode !== null,
    }),
    chaos: operations.chaos,
    close: () => open.disposeAsync(),
  };
}

/** Calls of registered workers, for runs that no member of the fleet has the tags for (P4). */
function workerCalls(peers: NodePeerApi, clusterNode: ClusterNode | null): WorkerCalls {
  return {
    route: (tags) => peers.route({ tags }),
    async isHealthy(nodeId) {
      const peer = await foundOrNull(peers.get(nodeId));
      return peer !== null && peer.status !== 'UNHEALTHY';
    },
    async *forward(to, { executionId, agentId, manifestYaml, input, context }, options) {
      // Another controller may take the run.
      if (clusterNode === null) throw new SvcError('unavailable', NOT_ENABLED.reason);
      const request = {
        execution_id: executionId,
        agent_id: agentId,
        manifest_yaml: manifestYaml,
        input,
        context_json: JSON.stringify(context),
      };
      for await (const { event } of clusterNode.forward(to, request, options)) {
        if (event !== undefined) yield { name: event.$case, payload: plainObject({ ...event.value }) };
      }
    },
  };
}

interface Peers {
  /** Registered nodes. Removing one also deletes all other data that the fleet stores about it. */
  readonly peers: NodePeerApi;
  readonly joinTokens: JoinTokens;
  readonly clusterNode: ClusterNode | null;
}

/** Opens the fleet's data about its nodes in the documents that all nodes share. */
async function openPeers({ context, stores, signing, runtime, controls }: ClusterParts): Promise<Peers> {
  const { settings, dataDir, node, clock, random, logger, warn, resolveSecret } = context;
  const { documents } = stores;
  const { enabled, join_token, require_join_token } = settings.cluster;
  const nodePeers = createNodePeerApi({ client: runtime.client, random, randomBytes });
  const audit = (event: Readonly<Record<string, string>>, message: string): void => logger.info(event, message);
  const pins = await openPins({ documents, clock });
  const joins = await openNodeAdmission({
    documents,
    clock,
    audit,
    required: require_join_token || join_token !== undefined,
    joinToken: async () => (enabled && join_token !== undefined ? resolveSecret(join_token) : null),
  });
  const peers: NodePeerApi = {
    ...nodePeers,
    async remove(nodeId, by) {
      await nodePeers.remove(nodeId, by);
      await Promise.all([pins.forget(nodeId), joins.forget(nodeId)]);
    },
  };
  const clusterNode = !enabled
    ? null
    : await openClusterNode({
        settings,
        dataDir,
        node,
        signing,
        resolve: resolveSecret,
        pins,
        joins,
        controls,
        activeExecutions: () => runtime.counts().effects.running,
        managedConfig: async () => (await peers.config()).config_yaml,
        clock,
        log: logger,
        warn,
      });
  return { peers, clusterNode, joinTokens: await openJoinTokens({ documents, clock, random, audit }) };
}

/** The keys that sign and verify the tokens of nodes, agents and executions, and the heads of audit chains. */
export interface Signing {
  readonly keys: SigningKeys;
  readonly published: PublishedKeys;
}

/**
 * Opens the signing keys. The keys are loaded or created by the first signature, since most nodes on one machine never
 * sign.
 */
export function openSigning({
  context,
  documents,
}: {
  readonly context: NodeContext;
  readonly documents: Documents;
}): Signing {
  const { settings, dataDir, resolveSecret, clock, warn } = context;
  const keys = createSigningKeys(settings.signing, { dataDir, resolve: resolveSecret, clock, warn });
  return { keys: openedAtFirstUse(keys), published: createPublishedKeys({ documents, clock }) };
}

function openedAtFirstUse(keys: SigningKeys): SigningKeys {
  // A failed opening is not cached: a key store that was unavailable may answer at the next use.
  const opened = new Lazy(async () => {
    await keys.open();
    return keys;
  });
  return {
    open: async () => void (await opened.get()),
    sign: async (data) => (await opened.get()).sign(data),
    publicKeys: async () => (await opened.get()).publicKeys(),
    rotate: async () => (await opened.get()).rotate(),
    close: () => keys.close(),
  };
}
