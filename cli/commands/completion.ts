import { Argument, type Command, type Option } from 'commander';
import { invalid } from '../failure.ts';

/** A command, and the words that may follow it on the command line. */
interface CompletionNode {
  /** Names of the command and its parents; empty for the program itself. */
  readonly path: readonly string[];
  readonly commands: readonly Word[];
  /** Long flags of the command and of the program. */
  readonly flags: readonly Flag[];
  /** Its first argument is the name of a tool, which the node lists. */
  readonly takesTool: boolean;
}

interface Word {
  readonly word: string;
  readonly about: string;
}

interface Flag extends Word {
  /** A value follows it. */
  readonly takesValue: boolean;
  /** Allowed values, when known. */
  readonly choices: readonly string[];
}

/** Allowed values of flags whose help lists them. */
const CHOICES: Readonly<Record<string, readonly string[]>> = { '--output': ['text', 'table', 'json', 'yaml'] };

/** All commands of a program with their flags, the program first. */
function completionTree(program: Command): CompletionNode[] {
  return nodesOf(program, [], program.options.map(flagOf));
}

function nodesOf(command: Command, path: readonly string[], everywhere: readonly Flag[]): CompletionNode[] {
  const own = path.length === 0 ? [] : command.options.map(flagOf);
  const help: Flag = { word: '--help', about: 'show help', takesValue: false, choices: [] };
  const node: CompletionNode = {
    path,
    commands: command.commands.map((child) => ({ word: child.name(), about: firstLine(child.description()) })),
    flags: [...own, ...everywhere, help],
    takesTool: path.join(' ') === 'tools call',
  };
  const below = command.commands.flatMap((child) =>
    // An alias completes flags too, but only the main name is offered.
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

/** `source <(svc completion bash)`. Works without the package bash-completion. */
function bashCompletion(nodes: readonly CompletionNode[]): string {
  const cases = nodes.map(
    ({ path, commands, flags }) =>
      `    '${path.join(' ')}') commands='${commands.map(({ word }) => word).join(' ')}' flags='${flags.map(({ word }) => word).join(' ')}' ;;`,
  );
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`);
  const values = valueWords(nodes);
  return `# bash completion of svc. Load it with: source <(svc completion bash)
_svc() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" place='' next skip='' given=0 at commands flags
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ -n $skip ]]; then skip=''; continue; fi
    case "\${COMP_WORDS[at]}" in
      ${values.taking.join('|')}) skip=1; continue ;;
      -*) continue ;;
    esac
    next="\${place:+$place }\${COMP_WORDS[at]}"
    case "$next" in
      ${paths.join('|')}) place="$next" ;;
      *) given=$((given + 1)) ;;
    esac
  done
  case "$previous" in
${values.choices.map(([flag, words]) => `    ${flag}) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$current")); return ;;`).join('\n')}
    ${values.taking.join('|')}) compopt -o default 2>/dev/null; COMPREPLY=(); return ;;
  esac
  case "$place" in
${cases.join('\n')}
  esac
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current")); return; fi
  if [[ $place == 'tools call' && $given -eq 0 ]]; then
    commands="$("\${COMP_WORDS[0]}" tools list --names 2>/dev/null)"
  fi
  COMPREPLY=($(compgen -W "$commands" -- "$current"))
  if [[ -z $commands ]]; then compopt -o default 2>/dev/null; fi
}
complete -F _svc svc
`;
}

/** Flags that take a value in every command: the scripts do not know which command a flag belongs to. */
function valueWords(nodes: readonly CompletionNode[]) {
  const flags = nodes.flatMap((node) => node.flags);
  const bare = new Set(flags.filter(({ takesValue }) => !takesValue).map(({ word }) => word));
  const taking = [...new Set(flags.map(({ word }) => word))].filter((word) => !bare.has(word)).sort();
  const choices = new Map(flags.filter((flag) => flag.choices.length > 0).map((flag) => [flag.word, flag.choices]));
  return { taking, choices: [...choices] };
}

/** `source <(svc completion zsh)`, or a file `_svc` in a directory of `$fpath`. */
function zshCompletion(nodes: readonly CompletionNode[]): string {
  const cases = nodes.map(
    ({ path, commands, flags }) =>
      `    ${quoted(path.join(' '))}) commands=(${commands.map(described).join(' ')}) flags=(${flags.map(described).join(' ')}) ;;`,
  );
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(' ')));
  const values = valueWords(nodes);
  return `#compdef svc
# zsh completion of svc. Load it with: source <(svc completion zsh)
_svc() {
  local place='' next skip='' given=0 at
  local -a commands flags tools
  for ((at = 2; at < CURRENT; at++)); do
    if [[ -n $skip ]]; then skip=''; continue; fi
    case "$words[at]" in
      ${values.taking.join('|')}) skip=1; continue ;;
      -*) continue ;;
    esac
    next="\${place:+$place }$words[at]"
    case "$next" in
      ${paths.join('|')}) place="$next" ;;
      *) given=$((given + 1)) ;;
    esac
  done
  case "$words[CURRENT-1]" in
${values.choices.map(([flag, words]) => `    ${flag}) compadd -- ${words.join(' ')}; return ;;`).join('\n')}
    ${values.taking.join('|')}) _files; return ;;
  esac
  case "$place" in
${cases.join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then _describe -t flags flag flags; return; fi
  if [[ $place == 'tools call' && $given -eq 0 ]]; then
    tools=(\${(f)"$($words[1] tools list --names 2>/dev/null)"})
    compadd -- $tools
    return
  fi
  if ((\${#commands})); then _describe -t commands command commands; else _files; fi
}
if [[ $funcstack[1] == _svc ]]; then _svc "$@"; else (( $+functions[compdef] )) && compdef _svc svc; fi
`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** `_describe` splits at the first colon. */
const described = ({ word, about }: Word): string => quoted(`${word.replaceAll(':', '\\:')}:${about}`);

/** `svc completion fish | source`, or a file in `~/.config/fish/completions`. */
function fishCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => fishQuoted(path.join(' ')));
  const { taking } = valueWords(nodes);
  const lines = nodes.flatMap(({ path, commands, flags, takesTool }) => {
    const at = fishQuoted(path.join(' '));
    const place = `complete -c svc -n "__svc_at ${at}"`;
    return [
      ...commands.map(({ word, about }) => `${place} -f -a ${fishQuoted(word)} -d ${fishQuoted(about)}`),
      ...flags.map((flag) => `${place} ${flagWords(flag)}`),
      ...(takesTool ? [`complete -c svc -n "__svc_first ${at}" -f -a "(svc tools list --names 2>/dev/null)"`] : []),
    ];
  });
  return `# fish completion of svc. Load it with: svc completion fish | source
# Prints the command that was typed so far, then a line for each of its arguments.
function __svc_typed
    set -l place ''
    set -l skip ''
    set -l given
    for word in (commandline -opc)[2..]
        if test -n "$skip"
            set skip ''
            continue
        end
        switch $word
            case ${taking.join(' ')}
                set skip 1
                continue
            case '-*'
                continue
        end
        set -l next (string trim -- "$place $word")
        if contains -- $next ${paths.join(' ')}
            set place $next
        else
            set given $given $word
        end
    end
    printf '%s\\n' $place $given
end
function __svc_at
    set -l typed (__svc_typed)
    test "$typed[1]" = "$argv[1]"
end
function __svc_first
    set -l typed (__svc_typed)
    test (count $typed) -eq 1 -a "$typed[1]" = "$argv[1]"
end
${lines.join('\n')}
`;
}

function flagWords({ word, about, takesValue, choices }: Flag): string {
  const name = word.startsWith('--') ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`;
  const value = choices.length > 0 ? ` -x -a ${fishQuoted(choices.join(' '))}` : takesValue ? ' -r' : '';
  return `${name}${value} -d ${fishQuoted(about)}`;
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** `svc completion SHELL`: prints the completion script of a shell. */
export function completion(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell: source <(svc completion bash)')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish'))
    .action((asked: string) => {
      const shell = SHELLS.find((one) => one === asked);
      if (shell === undefined) throw invalid(`shell: expected ${SHELLS.join(', ')}, got ${asked}`);
      process.stdout.write(SCRIPTS[shell](completionTree(program)));
    });
}
