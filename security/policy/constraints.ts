import type { ToolContract, Touches } from '../../manifests/tool/contract.ts';
import type { Capability, ManifestTool, ToolScope } from '../../manifests/tool/scope.ts';
import { type Breach, STAGE } from './api.ts';
import { capabilityCommandBreach, entryCommandBreach, noCommand } from './commands.ts';
import { domainBreach, entryDomainBreach, networkBreach } from './domains.ts';
import {
  absolutePath,
  type CheckedPath,
  capabilityPathBreach,
  entryPathBreach,
  filesystemBreach,
  pathFault,
} from './paths.ts';

export type Permission =
  | { readonly ok: true; readonly capability: Capability; readonly entry: ManifestTool | null }
  | { readonly ok: false; readonly breach: Breach };

export interface Asked {
  readonly scope: ToolScope;
  readonly capabilities: readonly Capability[];
  /** Entries of the manifest that grant the tool; null without a manifest. */
  readonly entries: readonly ManifestTool[] | null;
  readonly touches: Touches;
  /** Of a built-in tool; those of MCP servers are not bound by rules for files and network of the execution. */
  readonly contract: ToolContract | null;
}

/**
 * The first capability, in order, under which everything holds, and the manifest's entry that does (design S4). Else the
 * breach of whichever came furthest.
 */
export function permissionOf(asked: Asked): Permission {
  const { touches, contract } = asked;
  const paths: CheckedPath[] = [];
  for (const touched of touches.paths ?? []) {
    // Of an MCP tool it is a guess that this is a path: only a capability that says so binds it.
    const fault = contract === null && !bindsPaths(asked) ? null : pathFault(touched);
    if (fault !== null) return { ok: false, breach: { ...fault, stage: STAGE.path } };
    paths.push({ ...touched, absolute: absolutePath(touched.path) });
  }
  const entry = asked.entries === null ? null : entryPermission(asked.entries, touches, paths);
  const narrowed = narrowing(asked, entry, paths);
  let furthest: Breach | null = null;
  for (const capability of asked.capabilities) {
    const breach = earlier(capabilityBreach(capability, asked, paths), narrowed);
    if (breach === null) return { ok: true, capability, entry: entry?.entry ?? null };
    if (furthest === null || breach.stage > furthest.stage) furthest = breach;
  }
  return { ok: false, breach: furthest ?? { reason: 'ToolNotAllowed', message: 'no capability allows it', stage: 0 } };
}

const bindsPaths = ({ capabilities }: Asked): boolean =>
  capabilities.some(({ path_allowlist }) => path_allowlist !== undefined);

function capabilityBreach(capability: Capability, { scope, touches, contract }: Asked, paths: readonly CheckedPath[]) {
  const network = contract === null ? null : scope.network;
  const domains = touches.domains ?? [];
  const bindsDomains = contract !== null || capability.domain_allowlist !== undefined;
  return (
    capabilityPathBreach(paths, capability) ??
    networkBreach(touches.network, { network }, capability) ??
    (bindsDomains ? domainBreach(domains, { network }, capability) : null) ??
    capabilityCommandBreach(touches.command, capability)
  );
}

/** What the manifest says, whichever capability it is. */
function narrowing(asked: Asked, entry: EntryPermission | null, paths: readonly CheckedPath[]): Breach | null {
  const filesystem = asked.contract === null ? null : filesystemBreach(paths, asked.scope);
  return earlier(filesystem, entry === null ? noCommand(asked.touches.command) : entry.breach);
}

interface EntryPermission {
  readonly entry: ManifestTool | null;
  readonly breach: Breach | null;
}

/** Several entries may grant one tool: the first that allows this call, else the one that came furthest. */
function entryPermission(
  entries: readonly ManifestTool[],
  touches: Touches,
  paths: readonly CheckedPath[],
): EntryPermission {
  let furthest: Breach | null = null;
  for (const entry of entries) {
    const breach =
      entryPathBreach(paths, entry) ??
      entryDomainBreach(touches.domains ?? [], entry) ??
      entryCommandBreach(touches.command, entry);
    if (breach === null) return { entry, breach };
    if (furthest === null || breach.stage > furthest.stage) furthest = breach;
  }
  return { entry: null, breach: furthest };
}

/** Constraints are told in their order: of two breaches the one that is checked first. */
function earlier(one: Breach | null, other: Breach | null): Breach | null {
  if (one === null || other === null) return one ?? other;
  return other.stage < one.stage ? other : one;
}
