import { defineEffect, type EffectHandler } from '../../runtime/effect.ts';
import type { CommandRunner } from './api.ts';
import { CommandInput } from './input.ts';

/**
 * `command.run` (mode `once`): a System state's shell command in the workspace of its workflow execution (spec 3).
 * Result: exit code, both streams (1 MiB each), duration, and which limit ended it. Never repeated silently.
 */
export function createCommandEffect(commands: CommandRunner): EffectHandler<typeof CommandInput> {
  return defineEffect({
    kind: 'command.run',
    input: CommandInput,
    lasting: true,
    async run({ mounts, state_name, ...input }, { tenant, signal }) {
      const request = {
        ...{ ...input, tenant },
        ...(mounts === undefined ? {} : { mounts }),
        ...(state_name === undefined ? {} : { state_name }),
      };
      return { ...(await commands.run(request, signal)) };
    },
  });
}
