import type { CompletionNode } from './tree.ts';

/** `source <(svc completion bash)`. Works without the package bash-completion. */
export function bashCompletion(nodes: readonly CompletionNode[]): string {
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

/** Flags by whether a value follows, the same in every place or left out: a script cannot ask. */
export function valueWords(nodes: readonly CompletionNode[]) {
  const flags = nodes.flatMap((node) => node.flags);
  const bare = new Set(flags.filter(({ takesValue }) => !takesValue).map(({ word }) => word));
  const taking = [...new Set(flags.map(({ word }) => word))].filter((word) => !bare.has(word)).sort();
  const choices = new Map(flags.filter((flag) => flag.choices.length > 0).map((flag) => [flag.word, flag.choices]));
  return { taking, choices: [...choices] };
}
