import type { Touches } from '../../manifests/tool/contract.ts';
import type { Capability, ManifestTool } from '../../manifests/tool/scope.ts';
import { type Breach, STAGE } from './api.ts';

type Command = NonNullable<Touches['command']>;
type Subcommands = ReadonlyMap<string, readonly string[]>;

/** Of a capability: `command_allowlist` names commands, `subcommand_allowlist` commands with their first arguments. */
export function capabilityCommandBreach(
  command: Command | undefined,
  { command_allowlist, subcommand_allowlist }: Capability,
): Breach | null {
  if (command === undefined || (command_allowlist === undefined && subcommand_allowlist === undefined)) return null;
  const subcommands = new Map(Object.entries(subcommand_allowlist ?? {}));
  if (command_allowlist !== undefined && !command_allowlist.includes(command.base)) return commandBreach(command);
  if (command_allowlist !== undefined && !subcommands.has(command.base)) return null;
  return subcommandBreach(command, subcommands);
}

/** Of the manifest: without a `subcommand_allowlist` no command may run (spec 3, Command tool). */
export function entryCommandBreach(command: Command | undefined, entry: ManifestTool): Breach | null {
  return command === undefined ? null : subcommandBreach(command, allowlistOf(entry));
}

/** No manifest, no command. */
export const noCommand = (command: Command | undefined): Breach | null =>
  command === undefined ? null : commandBreach(command);

function allowlistOf({ config }: ManifestTool): Subcommands {
  const given = config.subcommand_allowlist;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return new Map();
  const isText = (value: unknown): value is string => typeof value === 'string';
  return new Map(
    Object.entries(given).flatMap(([base, firsts]) =>
      // A list with anything but texts in it is no list: as an empty one it would allow everything.
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
