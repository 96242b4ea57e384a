import type { Command, Option } from 'commander';

/** One place of the command line, and what may come next. */
export interface CompletionNode {
  /** Words from the program on, without its name: empty for the program itself. */
  readonly path: readonly string[];
  readonly commands: readonly Word[];
  /** Long flags of the command, and those of the program that go everywhere. */
  readonly flags: readonly Flag[];
  /** Its first argument is the name of a tool, which the node knows. */
  readonly takesTool: boolean;
}

export interface Word {
  readonly word: string;
  readonly about: string;
}

export interface Flag extends Word {
  /** A value follows it. */
  readonly takesValue: boolean;
  /** What the value may be, where that is known. */
  readonly choices: readonly string[];
}

/** Values that help texts name: `text, table, json or yaml`. */
const CHOICES: Readonly<Record<string, readonly string[]>> = { '--output': ['text', 'table', 'json', 'yaml'] };

/** Every command of a program with its flags, the program first. */
export function completionTree(program: Command): CompletionNode[] {
  return nodesOf(program, [], program.options.map(flagOf));
}

function nodesOf(command: Command, path: readonly string[], everywhere: readonly Flag[]): CompletionNode[] {
  const own = path.length === 0 ? [] : command.options.map(flagOf);
  const help: Flag = { word: '--help', about: 'how to use it', takesValue: false, choices: [] };
  const node: CompletionNode = {
    path,
    commands: command.commands.map((child) => ({ word: child.name(), about: firstLine(child.description()) })),
    flags: [...own, ...everywhere, help],
    takesTool: path.join(' ') === 'tools call',
  };
  const below = command.commands.flatMap((child) =>
    // Who types another name of a command gets its flags too; only the first is offered.
    [child.name(), ...child.aliases()].flatMap((name) => nodesOf(child, [...path, name], everywhere)),
  );
  return [node, ...below];
}

function flagOf({ long, short, description, required, optional, argChoices }: Option): Flag {
  const word = long ?? short ?? '';
  const choices = argChoices ?? CHOICES[word] ?? [];
  return { word, about: firstLine(description), takesValue: required || optional, choices };
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';
