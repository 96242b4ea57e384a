import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { contextOf } from '../context.ts';
import { CliFailure, EXIT } from '../failure.ts';
import { isObject, numberOf, textOf } from '../json.ts';
import type { NodeClient } from '../node-client.ts';
import { print } from '../output.ts';
import { wholeNumber } from '../read-input.ts';

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
