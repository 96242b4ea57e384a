import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { listOf, textOf } from '../json.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

const PATH = '/v1/chaos/faults';

/** `svc chaos kill-actor | kill-owner | kill-node | freeze-node`: faults on purpose, where the node allows them. */
export function chaosFaults(chaos: Command): void {
  const address = 'kind/tenant/id of an actor, such as execution/acme/UUID';
  fault(chaos, 'kill-actor', 'cut an actor off where it runs', ['<address>', address], 'address');
  fault(chaos, 'kill-owner', 'let the owner of an actor lose its partition', ['<address>', address], 'address');
  fault(chaos, 'kill-node', 'end the process of a node as kill -9 does', ['<node>', 'node id'], 'node');
  chaos
    .command('freeze-node')
    .description('block the event loop of a node')
    .argument('<node>', 'node id')
    .option('--ms <milliseconds>', 'for how long, at most 60000', '10000')
    .action(async (node: string, options: { ms: string }, command: Command) => {
      const ms = Number(wholeNumber(options.ms, '--ms', 1));
      await inject(command, { kind: 'freeze-node', node, ms });
    });
}

function fault(
  chaos: Command,
  kind: string,
  says: string,
  [argument, explained]: readonly [string, string],
  field: 'address' | 'node',
): void {
  chaos
    .command(kind)
    .description(says)
    .argument(argument, explained)
    .action((target: string, _options: object, command: Command) => inject(command, { kind, [field]: target }));
}

async function inject(command: Command, json: object): Promise<void> {
  const { client, output } = contextOf(command);
  const done = await client.json('POST', PATH, { json });
  const text = `${textOf(done, 'kind')} ${textOf(done, 'target')}: ${textOf(done, 'state')} by ${textOf(done, 'node')}`;
  await print(output, { value: done, text });
}

/** `svc chaos list`: faults that were asked for, newest first. */
export function chaosList(chaos: Command): void {
  chaos
    .command('list')
    .description('list the faults that were asked for, newest first')
    .option('--limit <count>', 'at most so many; default 50')
    .action(async (options: { limit?: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const query = { limit: wholeNumber(options.limit, '--limit', 1) };
      const answer = await client.json('GET', PATH, { query, repeatable: true });
      const columns = ['at', 'kind', 'target', 'state', 'node', 'by', 'reason'];
      await print(output, { value: answer, rows: { items: listOf(answer, 'faults'), columns } });
    });
}
