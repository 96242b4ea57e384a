import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { printDone } from '../print-answer.ts';
import { wholeNumber } from '../read-input.ts';

const PATH = '/v1/chaos/faults';

const ADDRESS = ['<address>', 'kind/tenant/id of an actor, such as execution/acme/UUID'] as const;

const NODE = ['<node>', 'node id'] as const;

/** `svc chaos …`: fault injection. */
export function chaos(program: Command): void {
  const group = program.command('chaos').description('fault injection, on nodes where spec.chaos allows it');
  const add = (kind: string, about: string, [argument, expected]: typeof ADDRESS | typeof NODE): Command => {
    const field = argument === '<node>' ? 'node' : 'address';
    return group
      .command(kind)
      .description(about)
      .argument(argument, expected)
      .action((target: string, _options: object, command: Command) => inject(command, { kind, [field]: target }));
  };
  add('kill-actor', 'drop an actor from memory as if its node had died', ADDRESS);
  add('kill-owner', "make the owner of an actor's partition lose its lease", ADDRESS);
  add('kill-node', 'end the process of a node as kill -9 does', NODE);
  group
    .command('freeze-node')
    .description('block the event loop of a node')
    .argument(...NODE)
    .option('--ms <milliseconds>', 'duration, at most 60000', '10000')
    .action(async (node: string, options: { ms: string }, command: Command) => {
      const ms = Number(wholeNumber(options.ms, '--ms', 1));
      await inject(command, { kind: 'freeze-node', node, ms });
    });
  list(group);
}

const inject = (command: Command, json: object): Promise<void> =>
  printDone(command, ['POST', PATH], { json }, (fault) => {
    const [kind, target, state, node] = ['kind', 'target', 'state', 'node'].map((field) => textOf(fault, field));
    return `${kind} ${target}: ${state} by ${node}`;
  });

/** `svc chaos list`. */
function list(group: Command): void {
  group
    .command('list')
    .description('list injected faults, newest first')
    .option('--limit <count>', 'maximum number of faults (default: 50)')
    .action(async (options: { limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const answer = await client.json('GET', PATH, { query, repeatable: true });
      const columns = ['at', 'kind', 'target', 'state', 'node', 'by', 'reason'];
      await print(output, { value: answer, rows: { items: listOf(answer, 'faults'), columns } });
    });
}
