import { join, resolve } from 'node:path';
import { createCommandEffect, createCommandRunner } from '../effects/commands/command-runner.ts';
import { createPatternQuery, createPatternStore } from '../effects/memory/pattern-effects.ts';
import { createModelEffect } from '../effects/models/model-effect.ts';
import { endLeftovers } from '../effects/programs/leftovers.ts';
import { openSandbox } from '../effects/programs/open-sandbox.ts';
import { createProgramEffect } from '../effects/programs/program-effect.ts';
import type { ProgramView } from '../effects/programs/view.ts';
import { startWorkspaceSweep } from '../effects/programs/workspace.ts';
import { openWorkspaceView } from '../effects/programs/workspace-view.ts';
import { createAgentStart, createWorkflowStart } from '../effects/starts/child-start.ts';
import { createPrepareEffect } from '../effects/volumes/prepare-effect.ts';
import { startVolumeSweep } from '../effects/volumes/sweep.ts';
import { createVolumes } from '../effects/volumes/volumes.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import { TargetGates } from '../runtime/effects/target-gates.ts';
import { SvcError } from '../runtime/errors.ts';
import { openPatterns } from './catalogs.ts';
import { type EffectsWorld, openContainers } from './containers.ts';
import { openTools } from './tools.ts';

/**
 * Opens all effects, which are all that reaches outside of the process: models, programs, commands, containers,
 * volumes, starts of children.
 */
export async function openEffects(world: EffectsWorld) {
  await using opened = new AsyncDisposableStack();
  const { settings, areas, clock, warn, workspaces, allow, secrets } = world;
  const { bootstrap_dir: baseDirectory } = settings.runtime;
  // Ends programs of an earlier process of this node: no actor waits for their results any more.
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
    granter: tools.granter,
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

const SETTING = 'spec.runtime.host_commands.sandbox';

const INSTALL = 'install bubblewrap (apt-get install bubblewrap, apk add bubblewrap) and let this user make namespaces';

interface HostProgramsParts {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly workspaces: string;
  readonly log: { warn(about: object, message: string): void };
}

/**
 * Opens the way in which this node runs commands and programs on the host: in a sandbox, or without one where the
 * settings allow that, with a warning in the log. Throws `invalid_config` when a sandbox is needed and there is none.
 */
async function openHostPrograms(parts: HostProgramsParts): Promise<ProgramView | null> {
  const { settings, dataDir, workspaces, log } = parts;
  const { runtime, iam, storage, stores } = settings;
  const { sandbox: wanted, allow, network, paths } = runtime.host_commands;
  if (wanted === 'off') {
    log.warn({}, `${SETTING}: off: commands and agents' programs run as this user and see all that it sees`);
    return (await openWorkspaceView(workspaces)).view;
  }
  const opened = await openSandbox({
    ...{ workspaces, network, paths, user: runtime.containers.user, programs: runtime.bootstrap_dir },
    hidden: [dataDir, storage.local_host.mount_point, stores.data_dir].flatMap((path) =>
      path === undefined ? [] : [resolve(path)],
    ),
  });
  if (opened.sandbox !== null) return opened.sandbox;
  const { reason } = opened;
  const server = settings.mcp_servers.findIndex(
    ({ executable, enabled, sandbox }) => executable !== undefined && enabled && sandbox === 'auto',
  );
  const why = refusal({ wanted, realms: iam.realms.length, allowed: allow.length, server });
  if (why !== null)
    throw new SvcError('invalid_config', `${SETTING}: ${why}, and there is no sandbox here (${reason}): ${INSTALL}`);
  // With an identity provider and no allowed tenant nothing runs on the host, so there is nothing to warn about.
  if (iam.realms.length === 0) {
    log.warn({ reason }, `commands and agents' programs run without a sandbox, as this user: ${INSTALL}`);
  }
  return (await openWorkspaceView(workspaces)).view;
}

/** Why a node must not run without a sandbox; null when it may. */
function refusal(about: {
  readonly wanted: 'auto' | 'required';
  readonly realms: number;
  readonly allowed: number;
  /** Index of the first MCP server that needs the sandbox; -1: none. */
  readonly server: number;
}) {
  if (about.wanted === 'required') return 'it is required';
  if (about.allowed > 1) return `spec.runtime.host_commands.allow names ${about.allowed} tenants`;
  if (about.realms > 0 && about.allowed > 0)
    return 'authentication is on and spec.runtime.host_commands.allow names a tenant';
  if (about.realms > 0 && about.server >= 0)
    return `authentication is on and spec.mcp_servers[${about.server}].sandbox is not off`;
  return null;
}
