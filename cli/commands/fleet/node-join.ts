import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { contextOf } from '../../context.ts';
import { CliFailure, EXIT, invalid } from '../../failure.ts';
import { isObject, numberOf, textOf } from '../../json.ts';
import type { NodeClient } from '../../node-client.ts';
import { commaList, endpointsOf, roleOf, type WrittenNode, writeNode } from '../../node-file.ts';
import { print } from '../../output.ts';
import { wholeNumber } from '../../read-input.ts';
import { startInProcess } from '../start.ts';

interface JoinOptions extends NodeFileOptions {
  readonly role: string;
  readonly start?: true;
}

/** `svc node join CONTROLLERS`: writes the configuration of a worker once a controller has answered. */
export function nodeJoin(node: Command): void {
  withNodeFile(
    node.command('join').description('write the configuration of a worker, after checking that a controller answers'),
  )
    .argument('<controllers>', 'host:port of controllers, separated by commas')
    .option('--role <role>', 'worker or hybrid', 'worker')
    .option('--start', 'start the node afterwards')
    .action(async (list: string, options: JoinOptions, command: Command) => {
      const { output, again } = contextOf(command);
      const role = roleOf(options.role);
      if (role === 'controller')
        throw invalid('--role: expected worker or hybrid; use svc node init to set up a controller');
      const controllers = endpointsOf(list, 'CONTROLLERS');
      if (controllers.length === 0) throw invalid('CONTROLLERS: expected host:port, got an empty list');
      const reached = await reach(controllers);
      const written = await writeNodeFile(options, { role, controllers });
      const text = `${reached}\n${writtenText(written)}`;
      if (options.start) {
        process.stderr.write(`${text}\n`);
        return startInProcess([`--config=${written.config}`]);
      }
      await print(output, { value: written, text: `${text}\nstart it with: ${again} start ${at(written)}` });
    });
}

/** One line for each controller. Throws when none of them answers. */
async function reach(controllers: readonly string[]): Promise<string> {
  const answers = await Promise.all(controllers.map(async (endpoint) => ({ endpoint, why: await probe(endpoint) })));
  const lines = answers.map(
    ({ endpoint, why }) => `${endpoint} ${why === null ? 'answers' : `does not answer: ${why}`}`,
  );
  if (answers.some(({ why }) => why === null)) return lines.join('\n');
  throw new CliFailure(EXIT.connection, 'no controller answers; nothing was written', lines);
}

const PROBE_TIMEOUT_MS = 3_000;

/** Null when `host:port` accepts a TCP connection, else the reason. */
function probe(endpoint: string): Promise<string | null> {
  const colon = endpoint.lastIndexOf(':');
  const host = endpoint.slice(0, colon).replace(/^\[|\]$/g, '');
  const port = Number(endpoint.slice(colon + 1));
  if (port > 65_535) return Promise.resolve('the port is above 65535');
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (answer: string | null): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => end(`no answer within ${PROBE_TIMEOUT_MS / 1_000} s`));
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

/** Options of the commands that write a node's configuration. */
const withNodeFile = (command: Command): Command =>
  command
    .option('--tags <tags>', 'capability tags of the node, separated by commas')
    .option('--redis <url>', 'Redis URL or a reference such as env:NAME; needs --mongodb')
    .option('--mongodb <uri>', 'MongoDB URI or a reference; needs --redis')
    .option('--data <directory>', 'data directory', './data')
    .option('--join-token <secret>', 'join token for attestation, or a reference such as env:NAME')
    .option('--file <path>', 'configuration file to write', './svc.yaml')
    .option('--force', 'overwrite the configuration file; the key is kept');

/** `svc node init`: writes the configuration and key of a node for a fleet. */
export function nodeInit(node: Command): void {
  withNodeFile(node.command('init').description('write the configuration and the key of a node'))
    .option('--role <role>', 'controller, worker or hybrid', 'hybrid')
    .option('--controllers <list>', 'host:port of controllers, separated by commas; required for a worker')
    .action(async (options: InitOptions, command: Command) => {
      const { output, again } = contextOf(command);
      const role = roleOf(options.role);
      const controllers = endpointsOf(options.controllers, '--controllers');
      if (role === 'worker' && controllers.length === 0) {
        throw invalid('--controllers: expected a controller of the worker, such as 10.0.0.1:50056');
      }
      const written = await writeNodeFile(options, { role, controllers });
      await print(output, {
        value: written,
        text: `${writtenText(written)}\nstart it with: ${again} start ${at(written)}`,
      });
    });
}

async function writeNodeFile(
  options: NodeFileOptions,
  { role, controllers }: { role: ReturnType<typeof roleOf>; controllers: readonly string[] },
): Promise<WrittenNode> {
  const { data, redis, mongodb, joinToken } = options;
  if ((redis === undefined) !== (mongodb === undefined)) throw invalid('--redis and --mongodb: expected both or none');
  const node = { role, controllers, tags: commaList(options.tags), data, redis, mongodb, joinToken };
  return writeNode(options.file, node, options.force === true);
}

const at = ({ config }: WrittenNode): string => `--config ${config}`;

const writtenText = ({ config, key, newKey }: WrittenNode): string =>
  `wrote ${config}\n${newKey ? 'made' : 'kept'} the node key ${key}`;

const POLL_MS = 200;

/** `svc node leave`: drains and stops the node at --url. */
export function nodeLeave(node: Command): void {
  node
    .command('leave')
    .description('drain the node at --url, stop it, and wait until it has left')
    .option('--timeout <seconds>', 'how long to wait', '60')
    .action(async (options: { timeout: string }, command: Command) => {
      const { client, output } = contextOf(command);
      const seconds = Number(wholeNumber(options.timeout, '--timeout', 1));
      const deadline = performance.now() + seconds * 1_000;
      const left = (): boolean => performance.now() < deadline;
      const { node_id: id, incarnation } = await self(client);
      const path = `/v1/cluster/nodes/${encodeURIComponent(id)}`;
      await client.json('POST', `${path}/drain`);
      while (left() && (await holdsPartitions(client))) await sleep(POLL_MS);
      await client.json('POST', `${path}/shutdown`, { json: { reason: 'svc node leave' } });
      while (left()) {
        if (await isGone(client, incarnation))
          return print(output, { value: { node_id: id, left: true }, text: `${id} has left` });
        await sleep(POLL_MS);
      }
      throw new CliFailure(
        EXIT.connection,
        `${id} has not stopped after ${seconds} s; it has the command to drain and stop, see: svc node show ${id}`,
      );
    });
}

async function self(client: NodeClient) {
  const { node } = await client.json('GET', '/v1/cluster/status', { repeatable: true });
  const partitions = isObject(node) && isObject(node.partitions) ? node.partitions : {};
  return { node_id: textOf(node, 'node_id'), incarnation: textOf(node, 'incarnation'), partitions };
}

/** A draining node hands its partitions over batch by batch. */
async function holdsPartitions(client: NodeClient): Promise<boolean> {
  const { partitions } = await self(client);
  return Object.keys(partitions).some((pool) => numberOf(partitions, pool) > 0);
}

/** Also true when a supervisor has restarted it. */
async function isGone(client: NodeClient, incarnation: string): Promise<boolean> {
  if (await isAway(client.text('GET', '/health'))) return true;
  const now = self(client);
  // The node may stop between the two calls; the next poll detects that.
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
