import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAgentContainerEffect } from '../effects/agents/container-effect.ts';
import { sweepExchanges } from '../effects/agents/exchange-directory.ts';
import type { AgentContainerParts } from '../effects/agents/plan-container.ts';
import { createContainerEffect } from '../effects/containers/container-effect.ts';
import type { ContainerEngine } from '../effects/containers/engine.ts';
import { type EngineLocation, findEngine } from '../effects/containers/engine-error.ts';
import type { ContainerLimits, ContainerOwner, ContainerParts } from '../effects/containers/settings.ts';
import { createContainerStarts } from '../effects/containers/state.ts';
import { startContainerSweep } from '../effects/containers/sweep.ts';
import type { WorkerCalls } from '../effects/starts/forward-execution.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import { requirePackages } from '../runtime/kit/optional-packages.ts';
import type { OpenStores } from '../runtime/open-stores.ts';
import type { TierLimits } from '../security/api.ts';
import { installationId } from './announcement.ts';
import type { Audit } from './audit.ts';
import type { EffectAreas } from './effect-areas.ts';
import type { NodeModels } from './fleet.ts';
import type { NodeContext } from './node-context.ts';
import type { AgentAccess } from './tool-areas.ts';

export interface EffectsParts {
  readonly context: NodeContext;
  readonly stores: Pick<OpenStores, 'documents' | 'blobs' | 'rateLimits'>;
  readonly access: AgentAccess;
  readonly tierLimits: TierLimits;
  readonly areas: EffectAreas;
  readonly workers: WorkerCalls;
  readonly models: Pick<NodeModels, 'targets'>;
  readonly audit: Pick<Audit, 'occurred'>;
}

/**
 * Opens the containers of workflow steps and of agents over the engine that was found. Without an engine the effects
 * refuse with an error that says so.
 */
export async function openContainers(parts: EffectsParts, volumes: ContainerParts['volumes']) {
  const { access, areas } = parts;
  const { settings, env, random, clock, node, secrets, warn } = parts.context;
  const { documents } = parts.stores;
  const location = findEngine({ configured: settings.runtime.container_socket_path, env });
  if (location === null && findEngine({ env, hasClient: () => true }) !== null)
    warn('a container engine is on this machine, but its client is not installed: npm install dockerode', undefined);
  const engine = location === null ? null : await engineAt(location, clock);
  const realm = await installationId(documents, random);
  const starts = await createContainerStarts(documents);
  const isWanted = (owner: ContainerOwner): Promise<boolean> => areas.isOpen(owner.address, owner.effectId);
  if (engine !== null) learnNetworks(parts, engine);
  const sweep = engine === null ? null : startContainerSweep({ engine, realm, isWanted, starts, clock, warn });
  const containers = {
    engine,
    networks: access.networks,
    volumes,
    secrets,
    starts,
    isWanted,
    node,
    realm,
    clock,
    warn,
    limits: containerLimits(settings),
    onEnd: (owner: ContainerOwner) => sweep?.soon(owner),
  };
  const agents = await agentContainers(parts, containers);
  const handlers = [createContainerEffect(containers), createAgentContainerEffect(agents)];
  return { engine, handlers, agents, close: async () => sweep?.stop() };
}

/**
 * Learns the networks of containers that an earlier process of this node left running. An engine that is unavailable
 * now is asked again before a container joins a network.
 */
function learnNetworks({ context, access }: EffectsParts, engine: ContainerEngine): void {
  const { runtime } = context.settings;
  const modes = new Set([runtime.container_network_mode ?? 'none', runtime.containers.agent_network ?? 'none']);
  for (const mode of modes) {
    access.networks.learn(engine, mode, new AbortController().signal).catch((err: unknown) => {
      context.logger.warn({ err, network: mode }, 'containers cannot join this network');
    });
  }
}

/** Loads the engine's client only when there is an engine, so that a node without one does not hold it. */
async function engineAt(location: EngineLocation, clock: Clock): Promise<ContainerEngine> {
  requirePackages('containers', 'the container engine of spec.runtime.container_socket_path or DOCKER_HOST');
  const { ContainerEngine } = await import('../effects/containers/engine.ts');
  return new ContainerEngine({ location, clock });
}

async function agentContainers(
  { context, access, areas }: EffectsParts,
  containers: Parameters<typeof createContainerEffect>[0],
): Promise<AgentContainerParts> {
  const { runtime } = context.settings;
  const directory = join(context.dataDir, 'agents');
  await sweepExchanges(directory, context.clock);
  return {
    containers,
    directory,
    script: runtime.bootstrap_script === undefined ? null : await ownScript(runtime.bootstrap_script),
    gateway: areas.dispatch,
    tokens: access.tokens,
    gatewayUrl: access.url,
    runtimes: { runtimes: runtime.containers.runtimes, defaultImage: runtime.containers.agent_image },
    network: runtime.containers.agent_network ?? runtime.container_network_mode ?? 'none',
    keep: runtime.containers.keep_agent_containers,
  };
}

function ownScript(path: string): Promise<Buffer> {
  return readFile(path).catch((cause: unknown) => {
    const field = 'spec.runtime.bootstrap_script';
    throw new SvcError('invalid_config', `${field}: the file cannot be read`, { field, cause });
  });
}

const containerLimits = ({ runtime }: NodeSettings): ContainerLimits => {
  const { pids_limit, cpu, memory, user, read_only_root, tmp_size, output_limit, always_pull, registries } =
    runtime.containers;
  return {
    networkMode: runtime.container_network_mode ?? 'none',
    pids: pids_limit,
    cpuMillicores: cpu,
    memoryBytes: memory,
    user,
    readOnlyRoot: read_only_root,
    tmpBytes: tmp_size,
    outputBytes: output_limit,
    alwaysPull: always_pull,
    registries,
  };
};
