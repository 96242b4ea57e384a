import { valueWords } from './bash.ts';
import type { CompletionNode, Flag } from './tree.ts';

/** `svc completion fish | source`, or a file in `~/.config/fish/completions`. */
export function fishCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(' ')));
  const { taking } = valueWords(nodes);
  const lines = nodes.flatMap(({ path, commands, flags, takesTool }) => {
    const at = quoted(path.join(' '));
    const place = `complete -c svc -n "__svc_at ${at}"`;
    return [
      ...commands.map(({ word, about }) => `${place} -f -a ${quoted(word)} -d ${quoted(about)}`),
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
  const value = choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : takesValue ? ' -r' : '';
  return `${name}${value} -d ${quoted(about)}`;
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
