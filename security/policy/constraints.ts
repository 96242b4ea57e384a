import type { z } from 'zod';
import { expectation } from '../../manifests/expectation.ts';
import { fitSchema } from '../../manifests/json-schema/fit.ts';
import type { ToolContract, Touches } from '../../manifests/tool/contract.ts';
import type { Capability, ManifestTool, ToolOffer, ToolScope } from '../../manifests/tool/scope.ts';
import { type Breach, STAGE } from './api.ts';
import { domainBreach, entryDomainBreach, networkBreach } from './domains.ts';
import {
  absolutePath,
  type CheckedPath,
  capabilityPathBreach,
  entryPathBreach,
  filesystemBreach,
  pathFault,
} from './paths.ts';

type Permission =
  | { readonly ok: true; readonly capability: Capability; readonly entry: ManifestTool | null }
  | { readonly ok: false; readonly breach: Breach };

interface Asked {
  readonly scope: ToolScope;
  readonly capabilities: readonly Capability[];
  /** Entries of the manifest that grant the tool; null without a manifest. */
  readonly entries: readonly ManifestTool[] | null;
  readonly touches: Touches;
  /**
   * Contract of a built-in tool; null for a tool of an MCP server, to which the execution's rules for files and network do not
   * apply.
   */
  readonly contract: ToolContract | null;
}

/**
 * Returns the first capability, in order, whose constraints all hold, with the manifest entry that allows the call (S4).
 * Otherwise returns the breach with the highest stage.
 */
export function permissionOf(asked: Asked): Permission {
  const { touches, contract } = asked;
  const paths: CheckedPath[] = [];
  for (const touched of touches.paths ?? []) {
    // That an argument of an MCP tool is a path is a guess, so only a capability with a path allowlist restricts it.
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

/** Breach of the manifest's own constraints, which apply under every capability. */
function narrowing(asked: Asked, entry: EntryPermission | null, paths: readonly CheckedPath[]): Breach | null {
  const filesystem = asked.contract === null ? null : filesystemBreach(paths, asked.scope);
  return earlier(filesystem, entry === null ? noCommand(asked.touches.command) : entry.breach);
}

interface EntryPermission {
  readonly entry: ManifestTool | null;
  readonly breach: Breach | null;
}

/** Several entries may grant one tool: returns the first that allows this call, else the breach with the highest stage. */
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

/** Of two breaches, the one whose constraint is checked first. */
function earlier(one: Breach | null, other: Breach | null): Breach | null {
  if (one === null || other === null) return one ?? other;
  return other.stage < one.stage ? other : one;
}

type Command = NonNullable<Touches['command']>;

type Subcommands = ReadonlyMap<string, readonly string[]>;

/** Breach of a capability: `command_allowlist` names commands, `subcommand_allowlist` commands with their first arguments. */
function capabilityCommandBreach(
  command: Command | undefined,
  { command_allowlist, subcommand_allowlist }: Capability,
): Breach | null {
  if (command === undefined || (command_allowlist === undefined && subcommand_allowlist === undefined)) return null;
  const subcommands = new Map(Object.entries(subcommand_allowlist ?? {}));
  if (command_allowlist !== undefined && !command_allowlist.includes(command.base)) return commandBreach(command);
  if (command_allowlist !== undefined && !subcommands.has(command.base)) return null;
  return subcommandBreach(command, subcommands);
}

/** Breach of the manifest entry: without a `subcommand_allowlist` it allows no command (W44). */
function entryCommandBreach(command: Command | undefined, entry: ManifestTool): Breach | null {
  return command === undefined ? null : subcommandBreach(command, allowlistOf(entry));
}

/** Without a manifest no command may run. */
const noCommand = (command: Command | undefined): Breach | null =>
  command === undefined ? null : commandBreach(command);

function allowlistOf({ config }: ManifestTool): Subcommands {
  const given = config.subcommand_allowlist;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return new Map();
  const isText = (value: unknown): value is string => typeof value === 'string';
  return new Map(
    Object.entries(given).flatMap(([base, firsts]) =>
      // A list with other values than strings is ignored: filtered down to an empty list it would allow all arguments.
      Array.isArray(firsts) && firsts.every(isText) ? [[base, firsts.filter(isText)] as const] : [],
    ),
  );
}

function subcommandBreach(command: Command, allowlist: Subcommands): Breach | null {
  const firsts = allowlist.get(command.base);
  if (firsts === undefined) return commandBreach(command);
  if (firsts.length === 0 || (command.first !== null && firsts.includes(command.first))) return null;
  return {
    reason: 'SubcommandNotAllowed',
    field: 'args',
    message: `args: expected the first argument of ${shown(command.base)} to be one of ${shown(firsts.join(', '))}`,
    stage: STAGE.subcommand,
  };
}

const commandBreach = ({ base }: Command): Breach => ({
  reason: 'CommandNotAllowed',
  field: 'command',
  message: `command: ${shown(base)} is not in the subcommand_allowlist`,
  stage: STAGE.command,
});

const MAX_SHOWN_CHARS = 200;

const shown = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN_CHARS)).slice(1, -1);

type Json = z.core.util.JSONType;

type Arguments = Record<string, Json>;

type CheckedArguments =
  | { readonly ok: true; readonly arguments: Arguments; readonly input: unknown }
  | { readonly ok: false; readonly field?: string; readonly message: string };

const isObject = (value: unknown): value is Arguments =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const refused = (message: string, field?: string): CheckedArguments => ({
  ok: false,
  message,
  ...(field === undefined ? {} : { field }),
});

/**
 * Checks arguments against the tool's schema: the contract of a built-in tool (filling in its defaults), or the pinned JSON
 * Schema of a tool of an MCP server (W29).
 */
export function checkArguments(given: unknown, offer: ToolOffer, contract: ToolContract | null): CheckedArguments {
  if (!isObject(given)) return refused('arguments: expected an object', 'arguments');
  if (Object.hasOwn(given, '__proto__')) return refused('arguments: expected no member named __proto__', 'arguments');
  const broken = Object.entries(given).find((entry) => !isUnicode(entry));
  if (broken !== undefined)
    return refused(`${named(broken[0])}: expected Unicode text without lone surrogates`, named(broken[0]));
  return contract === null ? checkBySchema(given, offer) : checkByContract(given, contract);
}

/**
 * Whether all strings, including member names, are well-formed Unicode. A lone surrogate cannot be stored or sent on unchanged.
 */
function isUnicode(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isUnicode(member));
}

function checkByContract(given: Arguments, { input }: ToolContract): CheckedArguments {
  const parsed = input.safeParse(given, { error: expectation });
  if (parsed.success) {
    const { data } = parsed;
    return isObject(data) ? { ok: true, arguments: data, input: data } : refused('arguments: expected an object');
  }
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  if (unknown !== undefined) return refused(`${named(unknown)}: expected no such argument`, named(unknown));
  const path = (issue?.path ?? []).map(String);
  const [field = 'arguments'] = path;
  const isMissing = path.length === 1 && (given[field] ?? null) === null;
  const expected = issue?.message ?? 'does not fit the input schema of the tool';
  return refused(`${named(path.join('.') || field)}: ${isMissing ? `missing, ${expected}` : expected}`, named(field));
}

function checkBySchema(given: Arguments, { input_schema }: ToolOffer): CheckedArguments {
  const required = Array.isArray(input_schema.required) ? input_schema.required : [];
  const missing = required.find((name) => typeof name === 'string' && (given[name] ?? null) === null);
  if (typeof missing === 'string') return refused(`${named(missing)}: missing, expected a value`, named(missing));
  try {
    const fit = fitSchema(input_schema, given, { allErrors: false });
    if (fit.ok) return { ok: true, arguments: given, input: given };
    if ('endless' in fit) return refused(`arguments: cannot be checked, ${fit.endless}`, 'arguments');
    const [misfit] = fit.misfits;
    const field = named(misfit?.path.split('/')[1] ?? 'arguments');
    return refused(
      `${named(misfit?.path.slice(1) || 'arguments')}: ${misfit?.message ?? 'does not fit the input schema of the tool'}`,
      field,
    );
  } catch (error) {
    // The schema comes from the server. A schema that does not compile allows no call.
    if (error instanceof Error) return refused('arguments: cannot be checked, the schema of the tool is broken');
    throw error;
  }
}

const MAX_NAME_CHARS = 200;

/** A name for a message. Names come from the caller, so they are shortened to one line. */
const named = (name: string): string =>
  name
    .slice(0, MAX_NAME_CHARS)
    .toWellFormed()
    .replace(/\p{Cc}/gu, '?');
