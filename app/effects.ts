import { join, resolve } from 'node:path';
import { createScriptContainerEffect } from '../effects/agents/script-container.ts';
import { createCommandEffect, createCommandRunner } from '../effects/commands/command-runner.ts';
import type { ContainerEngine } from '../effects/containers/engine.ts';
import { createPatternQuery, createPatternStore } from '../effects/memory/pattern-effects.ts';
import { createModelEffect } from '../effects/models/model-effect.ts';
import { endLeftovers } from '../effects/programs/leftovers.ts';
import { openSandbox } from '../effects/programs/open-sandbox.ts';
import { createProgramEffect } from '../effects/programs/program-effect.ts';
import type { LateView, ProgramView } from '../effects/programs/view.ts';
import { startWorkspaceSweep } from '../effects/programs/workspace.ts';
import { openWorkspaceView } from '../effects/programs/workspace-view.ts';
import { createAgentStart, createWorkflowStart } from '../effects/starts/child-start.ts';
import { createForwardExecution } from '../effects/starts/forward-execution.ts';
import { createPrepareEffect } from '../effects/volumes/prepare-effect.ts';
import { startVolumeSweep } from '../effects/volumes/sweep.ts';
import { createVolumes, type Volumes } from '../effects/volumes/volumes.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { EffectHandler } from '../runtime/effect.ts';
import { TargetGates } from '../runtime/effects/target-gates.ts';
import { SvcError } from '../runtime/errors.ts';
import { storageOccurrence } from '../usecases/audited-operations.ts';
import { openPatterns } from './catalogs.ts';
import { type EffectsParts, openContainers } from './containers.ts';
import type { NodeContext } from './node-context.ts';
import { openTools } from './tools.ts';

export type Effects = Awaited<ReturnType<typeof openEffects>>;

/**
 * Opens all effects. Only they reach outside of the process: models, programs, commands, containers, volumes, starts of
 * children.
 */
export async function openEffects(parts: EffectsParts) {
  await using opened = new AsyncDisposableStack();
  const { context, stores, areas } = parts;
  const { settings, workspaces, clock, warn } = context;
  // Ends programs of an earlier process of this node: no actor waits for their results any more.
  await endLeftovers(workspaces);
  const volumes = await openVolumes(parts);
  opened.defer(() => volumes.close());
  opened.defer(startVolumeSweep({ store: volumes.store, everyMs: sweepEveryMs(settings), clock, warn }));
  const ended = (tenant: string, id: string): Promise<boolean> => areas.ended(tenant, id);
  opened.defer(startWorkspaceSweep({ workspaces, ended, clock, warn }));
  // The test of the sandbox runs programs, while the rest of the node is opened.
  const view = openHostPrograms(context);
  // `checked` throws its error. It is awaited here too, so that the error is never an unhandled rejection.
  const tested = view.then(
    () => {},
    () => {},
  );
  opened.defer(() => tested);
  const containers = await openContainers(parts, volumes);
  opened.defer(() => containers.close());
  const host = { allow: mayRunOnHost(settings), volumes, view, gates: openGates(context) };
  const tools = openNodeTools(parts, host, containers.engine);
  opened.defer(() => tools.close());
  const commands = createCommandRunner({ volumes, files: volumes.files, allow: host.allow, workspaces, view });
  const patterns = openPatterns({ documents: stores.documents, clock, settings, secrets: context.secrets, warn });
  const handlers = [
    openModelEffect(parts, host.gates),
    openPrograms(parts, host),
    createPrepareEffect(volumes),
    createCommandEffect(commands),
    ...containers.handlers,
    createScriptContainerEffect({ ...containers.agents, rules: tools.scriptRules }),
    ...tools.handlers,
    createAgentStart(areas.agents),
    createWorkflowStart(areas.workflows),
    createForwardExecution({ workers: parts.workers, manifestOf: areas.manifestOf, clock }),
    createPatternQuery(patterns),
    createPatternStore(patterns),
  ];
  const running = opened.move();
  return {
    handlers,
    volumes,
    commands,
    patterns,
    gates: host.gates,
    granter: tools.granter,
    runsImages: containers.engine !== null,
    /** Throws the fault of the sandbox. Call it before the node serves. */
    checked: async () => void (await view),
    close: () => running.disposeAsync(),
  };
}

/** Parts that programs, commands and tools on this host share. */
interface HostParts {
  /** Whether a tenant may run commands on this host (S6). */
  readonly allow: (tenant: string) => boolean;
  readonly volumes: Volumes;
  readonly view: LateView;
  readonly gates: TargetGates;
}

function openNodeTools(parts: EffectsParts, host: HostParts, engine: ContainerEngine | null) {
  const { context, stores, tierLimits, areas } = parts;
  return openTools({
    settings: context.settings,
    dataDir: context.dataDir,
    workspaces: context.workspaces,
    clock: context.clock,
    random: context.random,
    log: context.logger,
    secrets: context.secrets,
    blobs: stores.blobs,
    rateLimits: stores.rateLimits,
    tierLimits,
    allow: host.allow,
    volumes: host.volumes,
    view: host.view,
    engine,
    gates: host.gates,
    management: areas.management,
  });
}

function openModelEffect({ context, stores, tierLimits, models }: EffectsParts, gates: TargetGates): EffectHandler {
  return createModelEffect({
    providers: context.settings.llm_providers,
    selection: context.settings.llm_selection,
    targets: models.targets,
    secrets: context.secrets,
    blobs: stores.blobs,
    limits: tierLimits,
    gates,
  });
}

function openPrograms({ context, access }: EffectsParts, { allow, volumes, view }: HostParts): EffectHandler {
  return createProgramEffect({
    workspaces: context.workspaces,
    allow,
    secrets: context.secrets,
    volumes,
    view,
    nodeVariables: access.variables,
    baseDirectory: context.settings.runtime.bootstrap_dir,
  });
}

function mayRunOnHost({ iam, runtime }: NodeSettings): (tenant: string) => boolean {
  return (tenant) => iam.realms.length === 0 || runtime.host_commands.allow.includes(tenant);
}

/** Calls of a target that does not answer wait without a slot until a probe succeeds. Each change is logged. */
function openGates({ settings, clock, logger }: NodeContext): TargetGates {
  return new TargetGates({
    clock,
    most: settings.kernel.effect_concurrency,
    onChange(target, state, failures) {
      const fields = { target, failures };
      if (state === 'closed') logger.warn(fields, 'an external service answers calls again');
      else logger.warn(fields, 'an external service does not answer: calls of it wait until a probe succeeds');
    },
  });
}

const sweepEveryMs = ({ storage }: NodeSettings): number => storage.gc_interval_minutes * 60_000;

const LIMITED = 'volumes with a size are file systems of that size: a write beyond it gets ENOSPC';

const MEASURED =
  'volumes are measured while something writes to them: a writer beyond the size is ended with quota_exceeded (quota: image gives ENOSPC)';

function openVolumes({ context, stores, areas, audit }: EffectsParts) {
  const { dataDir, clock, random, warn, logger } = context;
  const { storage } = context.settings;
  const { quota } = storage.local_host;
  logger.info({ quota }, quota === 'image' ? LIMITED : MEASURED);
  return createVolumes({
    documents: stores.documents,
    clock,
    random,
    warn,
    root: storage.local_host.mount_point ?? join(dataDir, 'volumes'),
    quota,
    onEvent(published) {
      const { owner: _owner, ...event } = published;
      logger[event.event === 'PathTraversalBlocked' ? 'warn' : 'debug'](event, 'storage event');
      audit.occurred(storageOccurrence(published));
    },
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

/**
 * Prepares commands and programs on the host: in a sandbox, or without one where the settings allow that, with a warning in the
 * log. Throws `invalid_config` when a sandbox is needed and there is none.
 */
async function openHostPrograms({ settings, dataDir, workspaces, logger }: NodeContext): Promise<ProgramView | null> {
  const { runtime, iam, storage, stores } = settings;
  const { sandbox: wanted, allow, network, paths } = runtime.host_commands;
  if (wanted === 'off') {
    logger.warn({}, `${SETTING}: off: commands and agents' programs run as this user and see all that it sees`);
    return (await openWorkspaceView(workspaces)).view;
  }
  const opened = await openSandbox({
    workspaces,
    network,
    paths,
    user: runtime.containers.user,
    programs: runtime.bootstrap_dir,
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
    logger.warn({ reason }, `commands and agents' programs run without a sandbox, as this user: ${INSTALL}`);
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
  if (about.wanted === 'required') return 'a sandbox is required';
  if (about.allowed > 1) return `spec.runtime.host_commands.allow names ${about.allowed} tenants`;
  if (about.realms > 0 && about.allowed > 0)
    return 'authentication is on and spec.runtime.host_commands.allow names a tenant';
  if (about.realms > 0 && about.server >= 0)
    return `authentication is on and spec.mcp_servers[${about.server}].sandbox is not off`;
  return null;
}
