import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CliNode } from './cli-node.ts';

const CLI = join(import.meta.dirname, '..', '..', 'cli', 'svc.ts');
const TIMEOUT_MS = 60_000;
const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Why a shell cannot be tested here; false when it can. With CI=true a missing one is an error. */
function shellMissing(shell: Shell): string | false {
  if (spawnSync(shell, ['-c', 'exit 0']).status === 0) return false;
  const reason = `${shell} is not installed: its completion is NOT TESTED`;
  if (process.env.CI === 'true') throw new Error(reason);
  return reason;
}

/** Prints the completions of `SVC_LINE`, one word per line. */
const ASK: Readonly<Record<Shell, string>> = {
  bash: `
source "$SVC_DIR/script"
read -ra COMP_WORDS <<< "$SVC_LINE"
if [[ $SVC_LINE == *' ' ]]; then COMP_WORDS+=(''); fi
COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
"$(complete -p svc | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "\${COMPREPLY[@]}"
`,
  // Its completion works only in an interactive shell on a terminal (see ZSHRC).
  zsh: `
rm -f "$SVC_DIR/offered"
zmodload zsh/zpty
zpty typing zsh -i
while zpty -r typing line; do :; done
if [[ -e $SVC_DIR/offered ]]; then cat "$SVC_DIR/offered"; fi
`,
  fish: `
source "$SVC_DIR/script"
complete -C "$SVC_LINE" | string replace -r '\\t.*' ''
true
`,
};

/** Completes one line as TAB does, and records the completions. */
const ZSHRC = `
autoload -Uz compinit && compinit -u -d "$SVC_DIR/dump"
source "$SVC_DIR/script"
compadd() {
  local -a fitting
  # With -O, -A or -D it is only asked what would fit.
  if [[ " \${(@)@[1,(i)(-|--)]} " != *' -'[OAD]* ]]; then
    builtin compadd -A fitting "$@"
    print -rl -- "\${fitting[@]}" >> "$SVC_DIR/offered"
  fi
  builtin compadd "$@"
}
zle-line-init() {
  BUFFER=$SVC_LINE CURSOR=\${#SVC_LINE}
  zle complete-word
  exit
}
zle -N zle-line-init
`;

/** An interactive shell with `svc` on its path. */
async function openShell(shell: Shell, script: string, env: NodeJS.ProcessEnv) {
  const directory = await mkdtemp(join(tmpdir(), 'svc-shell-'));
  const svc = join(directory, 'svc');
  await writeFile(svc, `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
  await chmod(svc, 0o755);
  await writeFile(join(directory, 'script'), script);
  await writeFile(join(directory, '.zshrc'), ZSHRC);
  return {
    /** What TAB offers at the end of the line, sorted. */
    offers(line: string): string[] {
      const { stdout, stderr, status } = spawnSync(shell, ['-c', ASK[shell]], {
        env: {
          ...{ PATH: `${directory}${delimiter}${process.env.PATH}`, HOME: directory, ZDOTDIR: directory },
          ...{ TERM: 'xterm', NODE_NO_WARNINGS: '1', SVC_DIR: directory, SVC_LINE: line, ...env },
        },
        cwd: directory,
        encoding: 'utf8',
        timeout: TIMEOUT_MS,
      });
      if (status !== 0 || stderr !== '') throw new Error(`${shell} ended with ${status}: ${stderr}`);
      return [...new Set(stdout.split('\n').filter((word) => word !== ''))].sort();
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

/** A typed line, and what TAB offers for it. */
const LINES: readonly (readonly [string, readonly string[]])[] = [
  ['svc too', ['tools']],
  ['svc tools ', ['call', 'list', 'search']],
  ['svc --output json tools ', ['call', 'list', 'search']],
  ['svc task list --st', ['--status']],
  ['svc task list --output j', ['json']],
  ['svc tools call svc.runtime', ['svc.runtime.list']],
  ['svc tools call svc.runtime.list --a', ['--args']],
  ['svc tools call svc.runtime.list svc.runtime', []],
  // The value of a flag is no command, whatever its text.
  ['svc --tenant agent tools ', ['call', 'list', 'search']],
  ['svc --tenant tools agent prom', ['promote']],
  // An alias of a command has the flags of the command.
  ['svc workflow describe --ver', ['--version']],
  ['svc agent remove --fo', ['--force']],
];

describe('completion in real shells', () => {
  let setup: CliNode;
  before(async () => {
    setup = await CliNode.open();
  });
  after(() => setup.close());

  for (const shell of SHELLS)
    test(`${shell} completes commands, flags, values, and the names of tools of the node`, {
      skip: shellMissing(shell),
    }, async () => {
      const script = (await setup.svc(['completion', shell])).stdout;
      await using typing = await openShell(shell, script, setup.env);
      for (const [line, offered] of LINES) assert.deepEqual(typing.offers(line), offered, `${shell}: ${line}`);
    });

  test('the scripts of all shells have every command, and no other shell is known', async () => {
    const { svcProgram } = await import('../../cli/program.ts');
    const commands = (await svcProgram()).commands.map((command) => command.name());
    for (const shell of SHELLS) {
      const { code, stdout } = await setup.svc(['completion', shell]);
      assert.equal(code, 0);
      for (const name of commands) assert.ok(stdout.includes(name), `${shell}: ${name}`);
    }
    const other = await setup.svc(['completion', 'tcsh']);
    assert.equal(other.code, 2);
    assert.match(other.stderr, /expected bash, zsh, fish, got tcsh/);
  });

  test('without a node no tool names are offered, and nothing is printed', async (context) => {
    const skip = shellMissing('bash');
    if (skip !== false) return context.skip(skip);
    const script = (await setup.svc(['completion', 'bash'])).stdout;
    await using typing = await openShell('bash', script, { SVC_URL: 'http://127.0.0.1:9' });
    assert.deepEqual(typing.offers('svc tools call svc.'), []);
  });
});
