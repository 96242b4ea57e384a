import { isAuthor } from '../catalog/built-in/api.ts';
import { createToolCommands } from '../effects/commands/tool-commands.ts';
import type { ContainerEngine } from '../effects/containers/engine.ts';
import type { McpLog } from '../effects/mcp/limits.ts';
import { createMcpServers } from '../effects/mcp/mcp-servers.ts';
import type { LateView } from '../effects/programs/view.ts';
import type { Volumes } from '../effects/volumes/volumes.ts';
import type { WebParts } from '../effects/web/web.ts';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Blobs } from '../runtime/blobs.ts';
import type { Clock } from '../runtime/clock.ts';
import type { TargetGates } from '../runtime/effects/target-gates.ts';
import { SYSTEM_TENANT } from '../runtime/identity.ts';
import { Lazy } from '../runtime/kit/lazy.ts';
import type { Random } from '../runtime/random.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import { VERSION } from '../runtime/store-formats.ts';
import type { Secrets, TierLimits } from '../security/api.ts';
import { createSecurityContexts } from '../security/policy/contexts.ts';
import { commandCeilings, isListed } from '../security/policy/matching.ts';
import { filesystemBreach } from '../security/policy/paths.ts';
import { domainProblem } from '../security/policy/policy.ts';
import { createContextEffect } from '../tools/context/context-effect.ts';
import { createBuiltInTools } from '../tools/contracts.ts';
import type { FilePorts } from '../tools/files/places.ts';
import { createGrantEffect, createToolEffect } from '../tools/tool-effect.ts';
import { createToolGranter } from '../tools/tool-granter.ts';
import { createFilesEffect } from '../tools/validation/files-effect.ts';
import { createScriptEffect } from '../tools/validation/script-effect.ts';
import { createScriptRules } from '../tools/validation/script-rules.ts';
import type { LateManagement } from '../usecases/management.ts';
import type { Web } from '../usecases/ports/web.ts';
import { toolPolicy } from './product-actors.ts';

interface ToolsParts {
  readonly settings: NodeSettings;
  readonly dataDir: string;
  readonly workspaces: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: McpLog;
  readonly secrets: Secrets;
  readonly blobs: Blobs;
  readonly rateLimits: RateLimits;
  readonly tierLimits: TierLimits;
  /** Whether a tenant may run commands on this host (S6). */
  readonly allow: (tenant: string) => boolean;
  readonly volumes: Volumes;
  readonly view: LateView;
  readonly engine: ContainerEngine | null;
  readonly gates?: TargetGates;
  /** Absent: the tools svc.* are not offered, except those that list tools. */
  readonly management?: LateManagement;
}

/** Opens the tools: the granter and the effects that grant and call. */
export function openTools(parts: ToolsParts) {
  const { settings, secrets, volumes, clock, random } = parts;
  const servers = settings.mcp_servers;
  const contexts = createSecurityContexts(settings.security_contexts, {
    mcpServers: servers.map(({ name }) => name),
    isAuthor,
  });
  const mcp = createMcpServers({
    settings: servers,
    secrets,
    clock,
    random,
    log: parts.log,
    dataDir: parts.dataDir,
    workspaces: parts.workspaces,
    view: parts.view,
    version: VERSION,
  });
  const dispatchers = settings.builtin_dispatchers;
  const granter = createToolGranter({ contexts, isListed, mcp, dispatchers, ceilings: commandCeilings(dispatchers) });
  const resolveSecret = (reference: string): Promise<string> => secrets.resolve(SYSTEM_TENANT, reference);
  const web = webAtFirstUse({ settings: settings.web, resolveSecret, clock, random });
  const files: FilePorts = {
    files: volumes.files,
    volumes,
    mayTouch: (scope, path, access) =>
      filesystemBreach([{ field: 'path', path, absolute: path, access }], scope) === null,
  };
  const commands = createToolCommands({
    volumes,
    workspaces: parts.workspaces,
    view: parts.view,
    allow: parts.allow,
    engine: parts.engine,
  });
  const tools = createBuiltInTools({
    files,
    web: { web, domainProblem },
    commands,
    listing: granter,
    management: parts.management,
  });
  const timeouts = new Map(servers.map(({ name, tool_timeout_seconds }) => [name, tool_timeout_seconds * 1_000]));
  const timeoutMs = (server: string): number => timeouts.get(server) ?? 60_000;
  const policy = toolPolicy(settings);
  const scriptRules = createScriptRules({ contexts, policy, ceilings: commandCeilings(dispatchers) });
  const handlers = [
    createGrantEffect(granter),
    createContextEffect({ files, web: { web, domainProblem }, contexts, policy, gates: parts.gates }),
    createFilesEffect({ files, contexts, policy }),
    createScriptEffect({ commands, rules: scriptRules }),
    createToolEffect({
      granter,
      tools,
      blobs: parts.blobs,
      mcp: { servers: mcp, timeoutMs },
      tierLimits: parts.tierLimits,
      rateLimits: parts.rateLimits,
      gates: parts.gates,
    }),
  ];
  const close = async (): Promise<void> => {
    await Promise.all([mcp.close(), web.close()]);
  };
  return { granter, handlers, scriptRules, close };
}

/** Loads the libraries of the web tools at their first use, so that an idle node does not hold them. */
function webAtFirstUse(parts: WebParts): Web & { close(): Promise<void> } {
  const web = new Lazy(async () => {
    const { createWeb } = await import('../effects/web/web.ts');
    return createWeb(parts);
  });
  return {
    fetch: async (...call) => (await web.get()).fetch(...call),
    search: async (...call) => (await web.get()).search(...call),
    close: async () => (await web.made())?.close(),
  };
}
