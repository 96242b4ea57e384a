import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAgentContainerEffect } from '../effects/agents/container-effect.ts';
import { sweepExchanges } from '../effects/agents/exchange-directory.ts';
import { createContainerEffect } from '../effects/containers/container-effect.ts';
import type { ContainerEngine } from '../effects/containers/engine.ts';
import { type EngineLocation, findEngine } from '../effects/containers/engine-error.ts';
import type { ContainerLimits, ContainerOwner } from '../effects/containers/settings.ts';
import { createContainerStarts } from '../effects/containers/state.ts';
import { startContainerSweep } from '../effects/containers/sweep.ts';
import type { McpLog } from '../effects/mcp/limits.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Blobs } from '../runtime/blobs.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import type { Secrets, TierLimits } from '../security/api.ts';
import type { VolumeDirectories, VolumeHolds } from '../usecases/ports/volumes.ts';
import { installationId } from './announcement.ts';
import type { LateAreas } from './areas.ts';
import type { AgentAccess } from './tool-areas.ts';

export interface EffectsWorld {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly workspaces: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly version: string;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly rateLimits: RateLimits;
  readonly tierLimits: TierLimits;
  readonly secrets: Secrets;
  readonly access: AgentAccess;
  readonly log: McpLog;
  /** Whether a tenant may run commands on this host (S6). */
  readonly allow: (tenant: string) => boolean;
  readonly areas: LateAreas;
  readonly warn: (message: string, error: unknown) => void;
}

/**
 * Opens the containers of workflow steps and of agents over the engine that was found. Without an engine the effects
 * refuse with an error that says so.
 */
export async function openContainers(world: EffectsWorld, volumes: VolumeDirectories & VolumeHolds) {
  const { settings, env, areas, documents, random, clock, node, secrets, warn } = world;
  const location = findEngine({ configured: settings.runtime.container_socket_path, env });
  const engine = location === null ? null : await engineAt(location, clock);
  const realm = await installationId(documents, random);
  const starts = await createContainerStarts(documents);
  const isWanted = (owner: ContainerOwner): Promise<boolean> => areas.isOpen(owner.address, owner.effectId);
  if (engine !== null) learnNetworks(world, engine);
  const sweep = engine === null ? null : startContainerSweep({ engine, realm, isWanted, starts, clock, warn });
  const containers = {
    ...{ engine, networks: world.access.networks, volumes, secrets, starts, isWanted, node, realm, clock, warn },
    limits: containerLimits(settings),
    onEnd: (owner: ContainerOwner) => sweep?.soon(owner),
  };
  const handlers = [createContainerEffect(containers), await agentContainers(world, containers)];
  return { engine, handlers, close: async () => sweep?.stop() };
}

/**
 * Learns the networks of containers that an earlier process of this node left running. An engine that is unavailable
 * now is asked again before a container joins a network.
 */
function learnNetworks({ settings: { runtime }, access, log }: EffectsWorld, engine: ContainerEngine): void {
  const modes = new Set([runtime.container_network_mode ?? 'none', runtime.containers.agent_network ?? 'none']);
  for (const mode of modes) {
    access.networks.learn(engine, mode, new AbortController().signal).catch((err: unknown) => {
      log.warn({ err, network: mode }, 'containers cannot join this network');
    });
  }
}

/** Loads the engine's client only when there is an engine, so that a node without one does not hold it. */
async function engineAt(location: EngineLocation, clock: Clock): Promise<ContainerEngine> {
  const { ContainerEngine } = await import('../effects/containers/engine.ts');
  return new ContainerEngine({ location, clock });
}

async function agentContainers(
  { settings, dataDir, access, areas, clock }: EffectsWorld,
  containers: Parameters<typeof createContainerEffect>[0],
) {
  const { runtime } = settings;
  const directory = join(dataDir, 'agents');
  await sweepExchanges(directory, clock);
  return createAgentContainerEffect({
    ...{ containers, directory },
    script: runtime.bootstrap_script === undefined ? null : await ownScript(runtime.bootstrap_script),
    gateway: areas.dispatch,
    tokens: access.tokens,
    gatewayUrl: access.url,
    runtimes: { runtimes: runtime.containers.runtimes, defaultImage: runtime.containers.agent_image },
    network: runtime.containers.agent_network ?? runtime.container_network_mode ?? 'none',
    keep: runtime.containers.keep_agent_containers,
  });
}

function ownScript(path: string): Promise<Buffer> {
  return readFile(path).catch((cause: unknown) => {
    const field = 'spec.runtime.bootstrap_script';
    throw new SvcError('invalid_config', `${field}: the file cannot be read`, { field, cause });
  });
}

const containerLimits = ({ runtime }: NodeSettings): ContainerLimits => {
  const { pids_limit, cpu, memory, user, read_only_root, tmp_size, output_limit, always_pull } = runtime.containers;
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
  };
};
