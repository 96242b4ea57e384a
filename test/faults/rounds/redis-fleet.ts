import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startMongo } from '../../support/ferretdb.ts';
import { makeJournal } from '../../support/journal.ts';
import { NodeProcess } from '../../support/node-process.ts';
import { type RedisServer, type RedisServerOptions, startRedis } from '../../support/redis.ts';
import { type RedisSentinelOptions, startRedisSentinel } from '../../support/redis-sentinel.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { WorkflowCalls } from '../../support/workflow-kill-calls.ts';
import { stillUnderWay } from './quiet.ts';

/** Two nodes, their Redis and MongoDB, and a file to which commands write a line at their begin and at their end. */
export interface RedisFleet {
  /** The server, or the master that a Sentinel watches. */
  readonly redis: RedisServer;
  /** A connection to `redis`. */
  readonly admin: Redis;
  readonly nodes: readonly NodeProcess[];
  /** Calls of the first node; `at` returns those of another. */
  readonly calls: WorkflowCalls;
  at(node: number): WorkflowCalls;
  marks(): Promise<string[]>;
  /** Resolves when every node is ready. */
  ready(): Promise<void>;
  /** Number of workflow runs that Redis still has. */
  recorded(): Promise<number>;
  /** Runs that the liveness check finds still under way after all have ended. */
  stillUnderWay(sinceMs: number, ended: readonly string[]): Promise<string[]>;
  close(): Promise<void>;
}

const READY_WITHIN_MS = 60_000;

/** With `sentinel` the nodes find their master through one, which has a replica to fail over to. */
export async function openRedisFleet(
  options: RedisServerOptions,
  sentinel?: RedisSentinelOptions,
): Promise<RedisFleet> {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'svc-redis-fleet-'));
  opened.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  const marks = await makeJournal(directory, 'marks');
  const servers = sentinel === undefined ? await alone(options) : await startRedisSentinel(sentinel);
  opened.defer(() => servers.stop());
  const redis = servers.master;
  const mongo = await startMongo();
  opened.defer(() => mongo.stop());
  // The server with the store at the end of a round: behind a Sentinel the replica, since rounds kill the master.
  const after = 'replica' in servers ? servers.replica : redis;
  const admin = new Redis(redis.url, { retryStrategy: () => 50 });
  admin.on('error', () => {});
  opened.defer(() => admin.disconnect());
  const nodes = ['a', 'b'].map((name) => {
    const args = ['--data', join(directory, name), '--redis', servers.url, '--mongodb', mongo.uri];
    const node = new NodeProcess([...args, '--config', marks.config]);
    opened.defer(() => node.kill());
    return node;
  });
  // One after the other: the first one fixes the number of partitions.
  for (const node of nodes) {
    node.spawn();
    await node.url;
  }
  const ended = new AbortController();
  opened.defer(() => ended.abort());
  const at = (n: number) =>
    new WorkflowCalls(nodes[n % nodes.length] ?? { url: Promise.reject(new Error('no node')) }, ended.signal);
  await at(0).deploy(manifest(marks.file));
  const all = opened.move();
  return {
    ...{ redis, admin, nodes, calls: at(0), at },
    marks: marks.lines,
    async ready() {
      for (const node of nodes) {
        const isReady = async () => {
          const answer = await fetch(`${await node.url}/health/ready`).catch(() => null);
          return answer?.status === 200;
        };
        await waitUntil('a node is ready', isReady, READY_WITHIN_MS);
      }
    },
    async recorded() {
      const held = await Promise.all((await admin.keys('*:states')).map((key) => admin.hkeys(key)));
      return held.flat().filter((address) => address.startsWith('workflow')).length;
    },
    stillUnderWay: async (sinceMs, ended) =>
      stillUnderWay(sinceMs, { location: { dataDir: '', redis: [after.url] }, url: await nodes[0]?.url, ended }),
    close: () => all.disposeAsync(),
  };
}

async function alone(options: RedisServerOptions) {
  const master = await startRedis(options);
  return { url: master.url, master, stop: () => master.stop() };
}

/**
 * One command that marks its begin and its end; input: `run`, a name, and `seconds`. A command in doubt fails its run.
 */
const manifest = (marks: string): string => `
apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: marked, version: "1.0.0" }
spec:
  initial_state: WORK
  states:
    WORK:
      kind: System
      command: printf 'begin %s\\n' "$RUN" >> ${marks}; sleep "$SECONDS_LONG"; printf 'end %s\\n' "$RUN" >> ${marks}
      env: { RUN: "{{input.run}}", SECONDS_LONG: "{{input.seconds}}" }
      timeout: 120s
      transitions:
        - { condition: on_success, target: DONE }
        - { target: FAILED }
    DONE: { kind: System, command: finalize, env: { ok: "yes" }, transitions: [] }
    FAILED: { kind: System, command: finalize, env: { ok: "no" }, transitions: [] }
`;
