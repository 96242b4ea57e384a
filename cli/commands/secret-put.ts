import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { textOf } from '../json.ts';
import { print } from '../output.ts';
import { readSecret } from '../read-input.ts';
import { secretUrl } from './secret-show.ts';

/** `svc secret create PATH`. The value comes from standard input or a file, never from an argument others could see. */
export const secretCreate = (secret: Command): void =>
  put(secret, {
    name: 'create',
    expect: 'absent',
    description: 'keep a secret of the tenant on this node',
    done: 'created',
  });

/** `svc secret rotate PATH`: the value there was is kept as an earlier version. */
export const secretRotate = (secret: Command): void =>
  put(secret, {
    name: 'rotate',
    expect: 'present',
    description: 'give a secret a new value, keeping the old one',
    done: 'rotated',
  });

interface Put {
  readonly name: string;
  readonly expect: 'absent' | 'present';
  readonly description: string;
  readonly done: string;
}

function put(secret: Command, { name, expect, description, done }: Put): void {
  secret
    .command(name)
    .description(description)
    .argument('<path>', 'such as db/password')
    .option('--value <source>', '- for standard input, or @FILE', '-')
    .action(async (path: string, options: { value: string }, command: Command) => {
      const { client, output } = contextOf(command);
      // `echo` and editors end with a newline that is no part of a secret.
      const value = (await readSecret(options.value, '--value')).replace(/\r?\n$/, '');
      const answer = await client.json('PUT', secretUrl(path), { json: { value, expect } });
      const text = `${done} ${textOf(answer, 'reference')}, version ${textOf(answer, 'version')}`;
      await print(output, { value: answer, text });
    });
}
