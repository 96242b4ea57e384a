import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Followed, followExecution, isFinal, type SeenEvent } from '../kill/follower.ts';
import { startMongo } from '../support/ferretdb.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { agentYaml, objectOf, ProductNode } from './product-node.ts';

const skip = serversMissing();
/** Time that orchestrators give a node between SIGTERM and kill -9 (docker-compose.yml, examples/kubernetes). */
const GRACE_MS = 30_000;
/** Long before the grace time of a program is over. */
const AT_ONCE_MS = 5_000;
const STREAMS = sample({ normal: 4, long: 24 });
/** Number of events of a slow execution at half its time, at 50 ms each. */
const HALF = 50;

/** Writes its process id, then works for the seconds of its argument. */
const PROGRAM = `#!/bin/sh
echo "$$" >> "$RUNS"
sleep "$1"
echo done
`;
/** Ignores SIGTERM, and so do the programs that it starts. */
const STUBBORN = `#!/bin/sh
trap '' TERM
echo "$$" >> "$RUNS"
while :; do sleep 1; done
`;

interface Surroundings extends AsyncDisposable {
  readonly redis: RedisServer;
  readonly directory: string;
  /**
   * A node of the fleet that has its share of partitions: the one that an earlier test left running, else a new one.
   */
  node(): Promise<ProductNode>;
  /** Two nodes, each with its share. */
  pair(): Promise<readonly [ProductNode, ProductNode]>;
  /** Deploys a program; answers the agent's id. */
  program(node: ProductNode, name: string, text: string): Promise<string>;
  /** Process ids of the runs of a program so far. */
  runs(name: string): Promise<readonly number[]>;
}

/** Several nodes, as operators start them, over one Redis and one MongoDB-wire server. */
async function openSurroundings(): Promise<Surroundings> {
  const [redis, mongo] = await Promise.all([startRedis({ appendfsync: 'always' }), startMongo()]);
  const directory = await mkdtemp(join(tmpdir(), 'svc-termination-'));
  const nodes: ProductNode[] = [];
  // Programs report ids of their processes, which would be other ones inside a sandbox.
  const runtime = { host_commands: { sandbox: 'off' } };
  const spec = { runtime, kernel: { partitions: 32 }, stores: { redis: redis.url, mongodb: mongo.uri } };
  const running = (): readonly ProductNode[] => nodes.filter(({ process: { exitCode } }) => exitCode === null);
  const started = async (): Promise<ProductNode> => {
    const node = await ProductNode.start({ spec });
    nodes.push(node);
    return node;
  };
  const sharing = () =>
    waitUntil('every node holds its share', async () => (await Promise.all(running().map(holdsSome))).every(Boolean));
  const one = async (): Promise<ProductNode> => {
    const node = running()[0] ?? (await started());
    await sharing();
    return node;
  };
  return {
    redis,
    directory,
    node: one,
    async pair() {
      const pair = [await one(), await started()] as const;
      await sharing();
      return pair;
    },
    async program(node, name, text) {
      const path = join(directory, `${name}.sh`);
      await writeFile(path, text, { mode: 0o755 });
      return node.deploy(
        agentYaml(name, {
          runtime: { isolation: 'process' },
          env: { RUNS: join(directory, name) },
          advanced: { bootstrap_path: path },
          execution: { mode: 'one-shot' },
        }),
      );
    },
    async runs(name) {
      const text = await readFile(join(directory, name), 'utf8').catch(() => '');
      return text.split('\n').filter(Boolean).map(Number);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
      await Promise.all([redis.stop(), mongo.stop(), rm(directory, { recursive: true, force: true })]);
    },
  };
}

async function holdsSome(node: ProductNode): Promise<boolean> {
  const { body } = await node.call('GET', '/v1/cluster/status');
  const { partitions } = objectOf(JSON.stringify(body.node));
  return Number(objectOf(JSON.stringify(partitions)).default) > 0;
}

/**
 * Sends SIGTERM; returns the exit code and the duration of the stop. Fails when it takes longer than orchestrators
 * wait.
 */
async function terminate(node: ProductNode): Promise<{ code: number | null; tookMs: number }> {
  const began = performance.now();
  process.kill(node.process.pid, 'SIGTERM');
  await waitUntil('the node to end', () => node.process.exitCode !== null || !isAlive(node.process.pid), GRACE_MS);
  return { code: node.process.exitCode, tookMs: Math.round(performance.now() - began) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The output of the model, as the client joined it. */
const piecesOf = (events: readonly SeenEvent[]): string =>
  events
    .filter(({ name }) => name === 'iteration_output')
    .map(({ payload }) => String(payload.output))
    .join('');

async function isRunning(node: ProductNode): Promise<boolean> {
  const { body } = await node.call('GET', '/v1/cluster/status');
  return Number(objectOf(JSON.stringify(body.node)).running_effects) > 0;
}

describe('nodes of one fleet that are stopped', { skip, timeout: 480_000 }, () => {
  let setup: Surroundings;
  before(async () => {
    setup = await openSurroundings();
  });
  after(() => setup?.[Symbol.asyncDispose]());

  test('a node that is stopped under load stops in order, and nothing is lost', {
    timeout: 300_000,
  }, async (t) => {
    const [leaving, staying] = await setup.pair();
    const model = await leaving.deploy(agentYaml('talker'));
    const program = await setup.program(leaving, 'worker', PROGRAM);
    // First, because executions that stream would end while programs start on a busy machine.
    const programs = await Promise.all(Array.from({ length: 4 }, () => leaving.run(program, '5')));
    await waitUntil('the programs run', async () => (await setup.runs('worker')).length === 4, 60_000);
    const ids = await Promise.all(
      Array.from({ length: STREAMS }, (_, at) => (at % 2 === 0 ? leaving : staying).run(model, 'slow')),
    );
    ids.push(...programs);

    // A load balancer in front of both: it sends no request to a node that stops.
    let front = leaving;
    const seen = new Map(ids.map((id) => [id, 0]));
    const ended = new Set<string>();
    const following = ids.map((id) =>
      followExecution(id, {
        url: async () => front.url,
        onEvent(event) {
          seen.set(id, event.seq);
          if (isFinal(event)) ended.add(id);
        },
        signal: t.signal,
      }),
    );
    await waitUntil('every client is in the middle of its stream', () =>
      ids.slice(0, STREAMS).every((id) => (seen.get(id) ?? 0) >= 5),
    );

    // One that is near its end may end before the signal arrives.
    const under = ids.slice(0, STREAMS).map((id) => !ended.has(id) && (seen.get(id) ?? 0) < HALF);
    assert.ok(under.includes(true), 'executions are under way');
    const ending = terminate(leaving);
    front = staying;
    const { code, tookMs } = await ending;
    assert.equal(code, 0, leaving.process.log);
    t.diagnostic(`ended ${tookMs} ms after SIGTERM, with ${ids.length} executions and their streams under way`);

    const followed: Followed[] = await Promise.all(following);
    for (const [at, { events, connections }] of followed.entries()) {
      assert.equal(events.at(-1)?.name, 'execution_completed', `execution ${at}`);
      if (at < STREAMS) assert.equal(piecesOf(events), String(events.at(-1)?.payload.final_output), `execution ${at}`);
      // The client counts ids: a missing or repeated one is a separate error.
      if (under[at]) assert.ok(connections >= 2, 'it continued on the other node');
    }
    assert.equal((await setup.runs('worker')).length, 4, 'programs had the time to finish, none was run twice');
  });

  test('a program that does not end is killed in time, and its run continues on another node in doubt', {
    timeout: 300_000,
  }, async (t) => {
    const [leaving, staying] = await setup.pair();
    const program = await setup.program(leaving, 'stubborn', STUBBORN);
    const id = await leaving.run(program, 'x');
    await waitUntil('it runs', async () => (await setup.runs('stubborn')).length === 1);
    // Effects run on any node: the test stops the node that runs this one.
    const runner = (await isRunning(leaving)) ? leaving : staying;
    const other = runner === leaving ? staying : leaving;
    const { code, tookMs } = await terminate(runner);
    assert.equal(code, 0, runner.process.log);
    t.diagnostic(`ended ${tookMs} ms after SIGTERM, with a program that ignores it`);
    const [first = 0] = await setup.runs('stubborn');
    assert.equal(isAlive(first), false, 'the program ended with its node');
    const [, second = 0] = await waitUntil('it is run again', async () => {
      const runs = await setup.runs('stubborn');
      return runs.length === 2 && runs;
    });
    assert.equal((await other.statusOf(id)).in_doubt, 1);
    assert.equal((await other.call('POST', `/v1/executions/${id}/cancel`)).status, 200);
    await waitUntil('it is cancelled', async () => (await other.statusOf(id)).status === 'cancelled');
    await waitUntil('the program is gone', () => !isAlive(second));
  });

  test('without Redis a node still stops in time, and its runs continue when Redis is back', {
    timeout: 300_000,
  }, async (t) => {
    const node = await setup.node();
    const agent = await node.deploy(agentYaml('talker'));
    const ids = await Promise.all(Array.from({ length: 8 }, () => node.run(agent, 'slow')));
    await setup.redis.kill();
    const { code, tookMs } = await terminate(node);
    assert.equal(code, 0, node.process.log);
    t.diagnostic(`ended ${tookMs} ms after SIGTERM, without Redis`);
    await setup.redis.restart();
    const next = await setup.node();
    for (const id of ids) {
      await waitUntil(`execution ${id} to end`, async () => (await next.statusOf(id)).status === 'completed', 30_000);
    }
  });

  test('a second SIGTERM ends a node at once', { timeout: 300_000 }, async () => {
    const node = await setup.node();
    const program = await setup.program(node, 'deaf', STUBBORN);
    await node.run(program, 'x');
    await waitUntil('it runs', async () => (await setup.runs('deaf')).length === 1);
    const { pid } = node.process;
    process.kill(pid, 'SIGTERM');
    await waitUntil('the first is acted upon', () =>
      fetch(`${node.url}/health/live`).then(
        () => false,
        () => true,
      ),
    );
    assert.ok(isAlive(pid), 'the program delays the stop');
    const began = performance.now();
    process.kill(pid, 'SIGTERM');
    await waitUntil('the node to end', () => node.process.exitCode !== null);
    assert.ok(performance.now() - began < AT_ONCE_MS);
    assert.equal(node.process.exitCode, 1, 'it did not stop in order, and logs it');
    const [run = 0] = await setup.runs('deaf');
    await waitUntil('the program is gone too', () => !isAlive(run));
  });
});
