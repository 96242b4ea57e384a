import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { endpointsOf, roleOf } from '../node-file.ts';
import { print } from '../output.ts';
import { probe } from '../probe.ts';
import { at, type NodeFileOptions, withNodeFile, writeNodeFile, writtenText } from './node-init.ts';
import { startInProcess } from './start.ts';

interface JoinOptions extends NodeFileOptions {
  readonly role: string;
  readonly start?: true;
}

/** `svc node join CONTROLLER`: a worker's configuration, once a controller was seen to answer. */
export function nodeJoin(node: Command): void {
  withNodeFile(node.command('join').description('write the configuration of a worker for controllers that answer'))
    .argument('<controllers>', 'host:port of controllers, separated by commas')
    .option('--role <role>', 'worker or hybrid', 'worker')
    .option('--start', 'start the node, as svc start does')
    .action(async (list: string, options: JoinOptions, command: Command) => {
      const { output, again } = contextOf(command);
      const role = roleOf(options.role);
      if (role === 'controller') throw invalid('--role: a controller is set up with svc node init');
      const controllers = endpointsOf(list, 'CONTROLLERS');
      if (controllers.length === 0) throw invalid('CONTROLLERS: expected host:port, got nothing');
      const reached = await reach(controllers);
      const written = await writeNodeFile(options, { role, controllers });
      const text = `${reached}\n${writtenText(written)}`;
      if (options.start) {
        process.stderr.write(`${text}\n`);
        return startInProcess([`--config=${written.config}`]);
      }
      await print(output, { value: written, text: `${text}\nstart it: ${again} start ${at(written)}` });
    });
}

/** Says who answers; it is enough that one does. */
async function reach(controllers: readonly string[]): Promise<string> {
  const answers = await Promise.all(controllers.map(async (endpoint) => ({ endpoint, why: await probe(endpoint) })));
  const lines = answers.map(({ endpoint, why }) => `${endpoint} ${why === null ? 'answers' : `is away: ${why}`}`);
  if (answers.some(({ why }) => why === null)) return lines.join('\n');
  throw new CliFailure(EXIT.connection, 'no controller answers; nothing was written', lines);
}
