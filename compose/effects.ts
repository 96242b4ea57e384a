import { join } from 'node:path';
import { createCommandEffect } from '../effects/commands/command-effect.ts';
import { createCommandRunner } from '../effects/commands/command-runner.ts';
import { createContainerEffect } from '../effects/containers/container-effect.ts';
import { ContainerEngine } from '../effects/containers/engine.ts';
import { findEngine } from '../effects/containers/engine-location.ts';
import type { ContainerOwner } from '../effects/containers/labels.ts';
import type { ContainerLimits } from '../effects/containers/settings.ts';
import { createContainerStarts } from '../effects/containers/starts.ts';
import { startContainerSweep } from '../effects/containers/sweep.ts';
import { createModelEffect } from '../effects/models/model-effect.ts';
import { endLeftovers } from '../effects/programs/leftovers.ts';
import { createProgramEffect } from '../effects/programs/program-effect.ts';
import { startWorkspaceSweep } from '../effects/programs/workspace-sweep.ts';
import { openWorkspaceView } from '../effects/programs/workspace-view.ts';
import { createAgentStart } from '../effects/starts/agent-start.ts';
import { createWorkflowStart } from '../effects/starts/workflow-start.ts';
import type { VolumeDirectories, VolumeHolds } from '../effects/volumes/api.ts';
import { createPrepareEffect } from '../effects/volumes/prepare-effect.ts';
import { startVolumeSweep } from '../effects/volumes/sweep.ts';
import { createVolumes } from '../effects/volumes/volumes.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import type { Random } from '../runtime/random.ts';
import type { Secrets } from '../security/api.ts';
import type { LateAreas } from './areas.ts';
import { installationId } from './installation.ts';

export interface EffectsWorld {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly workspaces: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly documents: Documents;
  readonly secrets: Secrets;
  /** Whether a tenant may run commands on this host (design S6). */
  readonly allow: (tenant: string) => boolean;
  readonly areas: LateAreas;
  readonly warn: (message: string, error: unknown) => void;
}

/** All that touches the outside: models, programs, commands, containers, volumes, starts of children. */
export async function openEffects(world: EffectsWorld) {
  await using opened = new AsyncDisposableStack();
  const { settings, areas, clock, warn, workspaces, allow, secrets } = world;
  const { bootstrap_dir: baseDirectory } = settings.runtime;
  // Programs of an earlier life of this node, whose results nobody waits for any more.
  await endLeftovers(workspaces);
  const volumes = await openVolumes(world);
  opened.defer(() => volumes.close());
  opened.defer(startVolumeSweep({ ...world, store: volumes.store, everyMs: sweepEveryMs(settings) }));
  const ended = (tenant: string, id: string): Promise<boolean> => areas.ended(tenant, id);
  opened.defer(startWorkspaceSweep({ workspaces, ended, clock, warn }));
  const { view } = await openWorkspaceView(workspaces);
  const commands = createCommandRunner({ volumes, allow, workspaces, view });
  const containers = await openContainers(world, volumes);
  opened.defer(() => containers.close());
  const handlers = [
    createModelEffect({ providers: settings.llm_providers, selection: settings.llm_selection, secrets }),
    createProgramEffect({
      ...{ workspaces, allow, secrets, volumes, view },
      ...(baseDirectory === undefined ? {} : { baseDirectory }),
    }),
    createPrepareEffect(volumes),
    createCommandEffect(commands),
    containers.handler,
    createAgentStart(areas.agents),
    createWorkflowStart(areas.workflows),
  ];
  const running = opened.move();
  return { handlers, volumes, commands, close: () => running.disposeAsync() };
}

const sweepEveryMs = ({ storage }: NodeSettings): number => storage.gc_interval_minutes * 60_000;

function openVolumes({ settings, dataDir, documents, clock, random, areas, warn }: EffectsWorld) {
  const { storage } = settings;
  return createVolumes({
    ...{ documents, clock, random, warn },
    root: storage.local_host.mount_point ?? join(dataDir, 'volumes'),
    quota: storage.local_host.quota,
    limits: {
      defaultTtlHours: storage.default_ttl_hours,
      defaultSizeLimitMb: storage.default_size_limit_mb,
      maxSizeLimitMb: storage.max_size_limit_mb,
    },
    ended: (tenant, id) => areas.ended(tenant, id),
  });
}

/** Containers over whatever engine is there; without one the effect refuses by name. */
async function openContainers(world: EffectsWorld, volumes: VolumeDirectories & VolumeHolds) {
  const { settings, env, areas, documents, random, clock, node, secrets, warn } = world;
  const location = findEngine({ configured: settings.runtime.container_socket_path, env });
  const engine = location === null ? null : new ContainerEngine({ location, clock });
  const realm = await installationId(documents, random);
  const starts = await createContainerStarts(documents);
  const isWanted = (owner: ContainerOwner): Promise<boolean> => areas.isOpen(owner.address, owner.effectId);
  const sweep = engine === null ? null : startContainerSweep({ engine, realm, isWanted, starts, clock, warn });
  const handler = createContainerEffect({
    ...{ engine, volumes, secrets, starts, isWanted, node, realm, clock, warn },
    limits: containerLimits(settings),
    onEnd: (owner) => sweep?.soon(owner),
  });
  return { handler, close: async () => sweep?.stop() };
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
