import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { invalid } from '../failure.ts';
import { commaList, endpointsOf, roleOf, type WrittenNode, writeNode } from '../node-file.ts';
import { print } from '../output.ts';

export interface NodeFileOptions {
  readonly tags?: string;
  readonly redis?: string;
  readonly mongodb?: string;
  readonly data: string;
  readonly joinToken?: string;
  readonly file: string;
  readonly force?: true;
}

interface InitOptions extends NodeFileOptions {
  readonly role: string;
  readonly controllers?: string;
}

/** Options that every command has that writes a node's configuration. */
export const withNodeFile = (command: Command): Command =>
  command
    .option('--tags <tags>', 'what the node is fit for, separated by commas')
    .option('--redis <url>', 'Redis URL or a reference such as env:NAME; needs --mongodb')
    .option('--mongodb <uri>', 'MongoDB URI or a reference; needs --redis')
    .option('--data <directory>', 'data directory', './data')
    .option('--join-token <secret>', 'what a node shows controllers to be attested; a reference such as env:NAME')
    .option('--file <path>', 'configuration to write', './svc.yaml')
    .option('--force', 'overwrite the configuration; the key is kept');

/** `svc node init`: configuration and key of a node that is to be in a fleet. */
export function nodeInit(node: Command): void {
  withNodeFile(node.command('init').description('write the configuration and the key of a node'))
    .option('--role <role>', 'controller, worker or hybrid', 'hybrid')
    .option('--controllers <list>', 'host:port of controllers, separated by commas; a worker needs one')
    .action(async (options: InitOptions, command: Command) => {
      const { output, again } = contextOf(command);
      const role = roleOf(options.role);
      const controllers = endpointsOf(options.controllers, '--controllers');
      if (role === 'worker' && controllers.length === 0) {
        throw invalid('--controllers: a worker needs a controller such as 10.0.0.1:50056');
      }
      const written = await writeNodeFile(options, { role, controllers });
      await print(output, { value: written, text: `${writtenText(written)}\nstart it: ${again} start ${at(written)}` });
    });
}

export async function writeNodeFile(
  options: NodeFileOptions,
  { role, controllers }: { role: ReturnType<typeof roleOf>; controllers: readonly string[] },
): Promise<WrittenNode> {
  const { data, redis, mongodb, joinToken } = options;
  if ((redis === undefined) !== (mongodb === undefined)) throw invalid('--redis and --mongodb: expected both or none');
  const node = {
    role,
    controllers,
    tags: commaList(options.tags),
    data,
    ...(redis === undefined ? {} : { redis }),
    ...(mongodb === undefined ? {} : { mongodb }),
    ...(joinToken === undefined ? {} : { joinToken }),
  };
  return writeNode(options.file, node, options.force === true);
}

export const at = ({ config }: WrittenNode): string => `--config ${config}`;

export const writtenText = ({ config, key, newKey }: WrittenNode): string =>
  `wrote ${config}\n${newKey ? 'made' : 'kept'} the node key ${key}`;
