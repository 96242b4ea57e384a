import { z } from 'zod';
import { PATH_CHARS, systemText, toolArguments } from '../contract/arguments.ts';
import { defineContract } from '../contract/define-contract.ts';
import { skipsJudge } from '../contract/judge-defaults.ts';

/** What the system takes in one argument. */
const ARGUMENT_CHARS = 128 * 1024 - 1;

export const cmdRun = defineContract({
  name: 'cmd.run',
  description:
    'Runs one command in the workspace, without a shell: no pipes, no redirects, no variables. Answers its output and exit code.',
  input: toolArguments({
    command: systemText(PATH_CHARS).regex(/\S/, 'expected a command, not blanks').describe('The program to run.'),
    args: z.array(systemText(ARGUMENT_CHARS)).max(256).default([]).describe('Its arguments, as they are.'),
  }),
  skipJudge: skipsJudge('cmd.run'),
  mode: 'once',
  reads: false,
  runs: 'agent',
  touches: ({ command, args }) => ({ command: { base: command, first: args[0] ?? null } }),
});
