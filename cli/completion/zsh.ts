import { valueWords } from './bash.ts';
import type { CompletionNode, Word } from './tree.ts';

/** `source <(svc completion zsh)`, or a file `_svc` in a directory of `$fpath`. */
export function zshCompletion(nodes: readonly CompletionNode[]): string {
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
