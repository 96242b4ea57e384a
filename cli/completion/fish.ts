import type { CompletionNode, Flag } from './tree.ts';

/** `svc completion fish | source`, or a file in `~/.config/fish/completions`. */
export function fishCompletion(nodes: readonly CompletionNode[]): string {
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(' ')));
  const lines = nodes.flatMap(({ path, commands, flags, takesTool }) => {
    const place = `complete -c svc -n "__svc_at ${quoted(path.join(' '))}"`;
    return [
      ...commands.map(({ word, about }) => `${place} -f -a ${quoted(word)} -d ${quoted(about)}`),
      ...flags.map((flag) => `${place} ${flagWords(flag)}`),
      ...(takesTool ? [`${place} -f -a "(svc tools list --names 2>/dev/null)"`] : []),
    ];
  });
  return `# fish completion of svc. Load it with: svc completion fish | source
function __svc_place
    set -l place ''
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$place $word")
        if contains -- $next ${paths.join(' ')}
            set place $next
        end
    end
    echo $place
end
function __svc_at
    test (__svc_place) = "$argv[1]"
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
