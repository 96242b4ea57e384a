import { Argument, type Command } from 'commander';
import { bashCompletion } from '../completion/bash.ts';
import { fishCompletion } from '../completion/fish.ts';
import { completionTree } from '../completion/tree.ts';
import { zshCompletion } from '../completion/zsh.ts';
import { invalid } from '../failure.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** `svc completion SHELL`: the script that completes svc in it. */
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
