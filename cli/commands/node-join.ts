import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT, invalid } from '../failure.ts';
import { isObject, numberOf, textOf } from '../json.ts';
import type { NodeClient } from '../node-client.ts';
import { commaList, endpointsOf, roleOf, type WrittenNode, writeNode } from '../node-file.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';
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

const PROBE_TIMEOUT_MS = 3_000;

/** Null when somebody accepts a TCP connection at `host:port`, else why not. */
function probe(endpoint: string, timeoutMs: number = PROBE_TIMEOUT_MS): Promise<string | null> {
  const colon = endpoint.lastIndexOf(':');
  const host = endpoint.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(endpoint.slice(colon + 1));
  if (port > 65_535) return Promise.resolve('no such port');
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (answer: string | null): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(timeoutMs, () => end(`no answer within ${timeoutMs / 1_000} s`));
    socket.once('connect', () => end(null));
    socket.once('error', (error) => end('code' in error ? String(error.code) : error.message));
  });
}

interface NodeFileOptions {
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
const withNodeFile = (command: Command): Command =>
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

async function writeNodeFile(
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

const at = ({ config }: WrittenNode): string => `--config ${config}`;

const writtenText = ({ config, key, newKey }: WrittenNode): string =>
  `wrote ${config}\n${newKey ? 'made' : 'kept'} the node key ${key}`;

const LOOK_EVERY_MS = 200;

/** `svc node leave`: the node at --url hands over what it has and ends. */
export function nodeLeave(node: Command): void {
  node
    .command('leave')
    .description('drain the node at --url, end it in order, and wait until it is gone')
    .option('--timeout <seconds>', 'how long to wait', '60')
    .action(async (options: { timeout: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const seconds = Number(wholeNumber(options.timeout, '--timeout', 1));
      const deadline = performance.now() + seconds * 1_000;
      const left = (): boolean => performance.now() < deadline;
      const { node_id: id, incarnation } = await self(client);
      const path = `/v1/cluster/nodes/${encodeURIComponent(id)}`;
      await client.json('POST', `${path}/drain`);
      while (left() && (await holdsPartitions(client))) await pause(LOOK_EVERY_MS);
      await client.json('POST', `${path}/shutdown`, { json: { reason: 'svc node leave' } });
      while (left()) {
        if (await isGone(client, incarnation))
          return print(output, { value: { node_id: id, left: true }, text: `${id} has left` });
        await pause(LOOK_EVERY_MS);
      }
      throw new CliFailure(EXIT.connection, `${id} is still there after ${seconds} s; it was told to drain and end`);
    });
}

async function self(client: NodeClient) {
  const { node } = await client.json('GET', '/v1/cluster/status', { repeatable: true });
  const partitions = isObject(node) && isObject(node.partitions) ? node.partitions : {};
  return { node_id: textOf(node, 'node_id'), incarnation: textOf(node, 'incarnation'), partitions };
}

/** A node that drains gives its partitions back batch by batch. */
async function holdsPartitions(client: NodeClient): Promise<boolean> {
  const { partitions } = await self(client);
  return Object.keys(partitions).some((pool) => numberOf(partitions, pool) > 0);
}

/** Also when it was started again at once, as a supervisor does. */
async function isGone(client: NodeClient, incarnation: string): Promise<boolean> {
  if (await isAway(client.text('GET', '/health'))) return true;
  const now = self(client);
  // Away only now: the next look sees it.
  return !(await isAway(now)) && (await now).incarnation !== incarnation;
}

async function isAway(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (thrown) {
    if (thrown instanceof CliFailure && thrown.exitCode === EXIT.connection) return true;
    throw thrown;
  }
}
