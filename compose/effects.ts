import { join } from 'node:path';
import { createCommandEffect } from '../effects/commands/command-effect.ts';
import { createCommandRunner } from '../effects/commands/command-runner.ts';
import type { McpLog } from '../effects/mcp/settings.ts';
import { createPatternQuery } from '../effects/memory/pattern-query.ts';
import { createPatternStore } from '../effects/memory/pattern-store.ts';
import { createModelEffect } from '../effects/models/model-effect.ts';
import { endLeftovers } from '../effects/programs/leftovers.ts';
import { createProgramEffect } from '../effects/programs/program-effect.ts';
import { startWorkspaceSweep } from '../effects/programs/workspace-sweep.ts';
import { createAgentStart } from '../effects/starts/agent-start.ts';
import { createWorkflowStart } from '../effects/starts/workflow-start.ts';
import { createPrepareEffect } from '../effects/volumes/prepare-effect.ts';
import { startVolumeSweep } from '../effects/volumes/sweep.ts';
import { createVolumes } from '../effects/volumes/volumes.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Blobs } from '../runtime/blobs.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import { TargetGates } from '../runtime/effects/target-gates.ts';
import type { Random } from '../runtime/random.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import type { Secrets, TierLimits } from '../security/api.ts';
import type { AgentAccess } from './agent-access.ts';
import type { LateAreas } from './areas.ts';
import { openContainers } from './containers.ts';
import { openHostPrograms } from './host-programs.ts';
import { openPatterns } from './patterns.ts';
import { openTools } from './tools.ts';

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
  const view = await openHostPrograms(world);
  const commands = createCommandRunner({ volumes, allow, workspaces, view });
  const containers = await openContainers(world, volumes);
  opened.defer(() => containers.close());
  const gates = new TargetGates({
    clock,
    most: settings.kernel.effect_concurrency,
    onChange(target, state, failures) {
      const fields = { target, failures };
      if (state === 'closed') world.log.warn(fields, 'a target of calls answers again');
      else
        world.log.warn(fields, 'a target of calls does not answer: its calls wait without a place while it is probed');
    },
  });
  const tools = openTools({ ...world, gates, volumes, view, engine: containers.engine, management: areas.management });
  opened.defer(() => tools.close());
  const patterns = openPatterns({ ...world, settings: settings.cortex });
  const handlers = [
    createModelEffect({
      ...{ providers: settings.llm_providers, selection: settings.llm_selection, secrets },
      ...{ blobs: world.blobs, limits: world.tierLimits, gates },
    }),
    createProgramEffect({
      ...{ workspaces, allow, secrets, volumes, view },
      nodeVariables: world.access.variables,
      ...(baseDirectory === undefined ? {} : { baseDirectory }),
    }),
    createPrepareEffect(volumes),
    createCommandEffect(commands),
    ...containers.handlers,
    ...tools.handlers,
    createAgentStart(areas.agents),
    createWorkflowStart(areas.workflows),
    createPatternQuery(patterns),
    createPatternStore(patterns),
  ];
  const running = opened.move();
  return {
    handlers,
    volumes,
    commands,
    patterns,
    gates,
    desk: tools.desk,
    runsImages: containers.engine !== null,
    close: () => running.disposeAsync(),
  };
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
    ownerOf: (tenant, id) => areas.ownerOf(tenant, id),
  });
}
