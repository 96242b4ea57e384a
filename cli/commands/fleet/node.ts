import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { CliFailure, EXIT, invalid } from '../../failure.ts';
import { isObject, type JsonObject, listOf, textOf, textsOf } from '../../json.ts';
import { counted, isForMachines, print } from '../../output.ts';
import { printDone, printList } from '../../print-answer.ts';
import { readText, several, shownFile, wholeNumber } from '../../read-input.ts';
import { secondsOf } from '../access/key.ts';
import { nodeInit, nodeJoin, nodeLeave } from './node-join.ts';

const pathOf = (id: string): string => `/v1/cluster/nodes/${encodeURIComponent(id)}`;

/** `svc node …`: the nodes of a fleet. */
export function node(program: Command): void {
  const group = program
    .command('node')
    .description('set up, inspect, drain, remove and configure the nodes of a fleet');
  nodeInit(group);
  nodeJoin(group);
  status(group);
  list(group);
  show(group);
  group
    .command('drain')
    .description('drain a node: it hands its partitions over and takes no new work')
    .argument('<id>', 'node id')
    .action((id: string, _options: object, command: Command) =>
      printDone(command, ['POST', `${pathOf(id)}/drain`], {}, `draining ${id}`),
    );
  nodeLeave(group);
  group
    .command('remove')
    .description('remove a dead node with its key and registration')
    .argument('<id>', 'node id')
    .action((id: string, _options: object, command: Command) =>
      printDone(command, ['DELETE', pathOf(id)], {}, `removed ${id}`),
    );
  config(group);
  nodeToken(group);
}

/** `svc node list`: nodes that are alive or registered. */
function list(group: Command): void {
  group
    .command('list')
    .alias('peers')
    .description('list the nodes of the fleet, and registered workers outside of it')
    .option('--status <status>', 'ACTIVE, DRAINING or UNHEALTHY')
    .option('--tag <tag>', 'only nodes with this tag')
    .action(async (options: { status?: string; tag?: string }, command: Command) => {
      await printList(command, {
        path: '/v1/cluster/nodes',
        member: 'nodes',
        query: { status: options.status?.toUpperCase(), tag: options.tag },
        columns: ['node_id', 'status', 'role', 'tags', 'partitions', 'version', 'last_heartbeat_at', 'member'],
        row: (one) => ({
          ...one,
          // Outside: registered, without the stores of the fleet, so runs are forwarded to it.
          member: one.member === true ? 'yes' : 'outside',
          tags: textsOf(one, 'tags').join(',') || '-',
          partitions: partitionsText(one.partitions),
        }),
      });
    });
}

/** `default 22, system 8`. */
function partitionsText(partitions: unknown): string {
  const entries = isObject(partitions) ? Object.entries(partitions) : [];
  return entries.length === 0 ? '-' : entries.map(([pool, count]) => `${pool} ${String(count)}`).join(', ');
}

/** `svc node show ID`. */
function show(group: Command): void {
  group
    .command('show')
    .description('show a node')
    .argument('<id>', 'node id')
    .action(async (id: string, _options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const shown = await client.json('GET', pathOf(id), { repeatable: true });
      const partitions = partitionsText(shown.partitions);
      await print(output, { value: isForMachines(output) ? shown : { ...shown, partitions } });
    });
}

/** `svc node status`. */
function status(group: Command): void {
  group
    .command('status')
    .description('show the node at --url, node counts of the fleet, and pools that no node serves')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', '/v1/cluster/status', { repeatable: true });
      await print(output, { value: isForMachines(output) ? answer : statusFields(answer) });
    });
}

function statusFields(answer: JsonObject): JsonObject {
  const self = isObject(answer.node) ? answer.node : {};
  const counts = isObject(answer.nodes) ? Object.entries(answer.nodes) : [];
  const waiting = listOf(answer, 'pools').flatMap((pool) => {
    const reason = textOf(pool.waiting_for, 'reason');
    return reason === '' ? [] : [`${textOf(pool, 'pool')}: ${reason}`];
  });
  return {
    ...self,
    partitions: partitionsText(self.partitions),
    fleet: counts.map(([name, count]) => `${String(count)} ${name}`).join(', '),
    waiting: waiting.join('; ') || '-',
    chaos: answer.chaos,
  };
}

const CONFIG_PATH = '/v1/cluster/config';

/** `svc node config get | set FILE | push`. */
function config(parent: Command): void {
  const group = parent
    .command('config')
    .description('configuration that controllers manage for all nodes: get, set, push');
  group
    .command('get')
    .description('print the managed configuration')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const answer = await client.json('GET', CONFIG_PATH, { repeatable: true });
      await print(output, { value: answer, text: textOf(answer, 'config_yaml') });
    });
  group
    .command('set')
    .description('set the managed configuration; nodes fetch it with their next heartbeat')
    .argument('<file>', 'YAML file; - reads standard input')
    .action(async (file: string, _options: object, command: Command) => {
      const body = { type: 'application/yaml', text: await readText(file, 'FILE') };
      const done = (answer: object): string => `set configuration ${textOf(answer, 'config_hash')}`;
      await printDone(command, ['PUT', CONFIG_PATH], { body, repeatable: true, file: shownFile(file) }, done);
    });
  group
    .command('push')
    .description('push the managed configuration to all reachable nodes now')
    .action(async (_options: object, command: Command) => {
      const { client, output } = contextOf(command);
      const items = listOf(await client.json('POST', `${CONFIG_PATH}/push`), 'nodes');
      await print(output, { value: items, rows: { items, columns: ['node_id', 'accepted', 'reason'] } });
      const refused = items.filter(({ accepted }) => accepted !== true).length;
      if (refused > 0)
        throw new CliFailure(EXIT.conflict, `${refused} of ${counted(items.length, 'node')} did not accept it`);
    });
}

const TOKENS_PATH = '/v1/cluster/join-tokens';

interface TokenOptions {
  readonly name: readonly string[];
  readonly tag: readonly string[];
  readonly address: readonly string[];
  readonly role: readonly string[];
  readonly uses?: string;
  readonly expiresIn?: string;
}

/** `svc node token …`: join tokens, with which new nodes join the fleet. */
function nodeToken(node: Command): void {
  const group = node.command('token').description('join tokens: create, list, revoke');
  createToken(group);
  listTokens(group);
  group
    .command('revoke')
    .description('revoke a join token; nodes that joined with it get no new node tokens')
    .argument('<id>', 'UUID of the join token')
    .action((id: string, _options: object, command: Command) => {
      const call = { repeatable: true };
      const done = (answer: object): string => `revoked join token ${textOf(answer, 'id')}`;
      return printDone(command, ['DELETE', `${TOKENS_PATH}/${encodeURIComponent(id)}`], call, done);
    });
}

/** Standard output holds nothing but the token, so that it can be piped. */
function createToken(group: Command): void {
  group
    .command('create')
    .description('create a join token; by default for one node, within one hour')
    .option(
      '--name <id>',
      'allowed node id, * at the end matches any ending; may be repeated (default: all)',
      several,
      [],
    )
    .option('--tag <tag>', 'tag that the node may have; may be repeated (default: none)', several, [])
    .option('--address <address>', 'allowed address, network or host name of the node; may be repeated', several, [])
    .option('--role <role>', 'worker or hybrid; may be repeated (default: worker)', several, [])
    .option('--uses <count>', 'number of nodes that may join with it (default: 1)')
    .option('--expires-in <time>', 'such as 30m or 7d (default: 1h)')
    .action(async ({ name, tag, address, role, uses, expiresIn }: TokenOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const json = {
        names: name,
        tags: tag,
        addresses: address,
        roles: role.length === 0 ? undefined : role.map(roleOf),
        uses: uses === undefined ? undefined : Number(wholeNumber(uses, '--uses', 1)),
        expires_in: secondsOf(expiresIn),
      };
      const answer = await client.json('POST', TOKENS_PATH, { json });
      if (output === 'text') {
        const until = textOf(answer, 'expires_at');
        process.stderr.write(`join token ${textOf(answer, 'id')}, valid until ${until}; it is not shown again:\n`);
      }
      await print(output, { value: answer, text: textOf(answer, 'token') });
    });
}

function listTokens(group: Command): void {
  group
    .command('list')
    .description('list join tokens and how often they were used, newest first')
    .option('--limit <count>', 'maximum number of tokens')
    .action(async (options: { limit?: string }, command: Command) => {
      await printList(command, {
        path: TOKENS_PATH,
        member: 'join_tokens',
        query: { limit: wholeNumber(options.limit, '--limit', 1) },
        columns: ['id', 'status', 'names', 'tags', 'addresses', 'used', 'refusals', 'expires_at'],
        row: (one) => ({
          ...one,
          ...Object.fromEntries(['names', 'tags', 'addresses'].map((field) => [field, textsOf(one, field).join(' ')])),
          used: `${Array.isArray(one.used_by) ? one.used_by.length : 0} of ${String(one.uses)}`,
        }),
      });
    });
}

function roleOf(given: string): string {
  const role = given.toUpperCase();
  if (role !== 'WORKER' && role !== 'HYBRID') throw invalid(`--role: expected worker or hybrid, got ${given}`);
  return role;
}
