import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type FailureDetector, startFailureDetector } from '../../cluster/failure-detector/failure-detector.ts';
import { type LivenessServer, startLivenessServer } from '../../cluster/failure-detector/liveness-server.ts';
import type { FleetMember } from '../../cluster/placement/fleet.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { systemRandom } from '../../runtime/random.ts';
import { startLink } from '../support/link.ts';
import { waitUntil } from '../support/wait-until.ts';

const PROGRAM = fileURLToPath(new URL('liveness-program.ts', import.meta.url));

interface LivenessProcess {
  readonly port: number;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** kill -9. */
  kill(): Promise<void>;
}

/** Starts `liveness-program.ts`; port 0 is any. */
async function startLivenessProcess(node: string, incarnation: string, port = 0): Promise<LivenessProcess> {
  const child = fork(PROGRAM, [node, incarnation, String(port)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [chosen] = await Promise.race([once(child, 'message'), failedToStart(child)]);
  if (typeof chosen !== 'number') throw new Error(`the liveness process sent ${String(chosen)} instead of its port`);
  return {
    port: chosen,
    signal: (name) => void child.kill(name),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function failedToStart(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`the liveness process ended with ${String(code)} before it sent its port`);
}

/** The liveness port of a node in this process, behind a proxy that counts, cuts and can redirect connections. */
interface LivenessFront {
  readonly port: number;
  /** Connections that are open now. */
  open(): number;
  /** Connections that have passed a hello. */
  greeted(): number;
  cutAll(): void;
  /** Sends new connections to another process of the node. */
  become(incarnation: string): Promise<void>;
  close(): Promise<void>;
}

const warn = (message: string, error: unknown): never => {
  throw new Error(message, { cause: error });
};

async function startLivenessFront(node: string, incarnation: string): Promise<LivenessFront> {
  const begin = (life: string): Promise<LivenessServer> =>
    startLivenessServer({ node, incarnation: life, host: '127.0.0.1', warn });
  const pulses = [await begin(incarnation)];
  const sockets = new Set<Socket>();
  let greeted = 0;
  const front = createServer((socket) => {
    sockets.add(socket);
    const upstream = connect(pulses.at(-1)?.port ?? 0, '127.0.0.1');
    upstream.once('data', () => {
      greeted += 1;
    });
    upstream.pipe(socket);
    const end = (): void => {
      sockets.delete(socket);
      socket.destroy();
      upstream.destroy();
    };
    // The end or failure of one side ends the other.
    for (const one of [socket, upstream]) one.on('error', end).on('close', end);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  const bound = front.address();
  if (bound === null || typeof bound === 'string') throw new Error('the front has no port');
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: bound.port,
    open: () => sockets.size,
    greeted: () => greeted,
    cutAll,
    async become(life) {
      pulses.push(await begin(life));
      cutAll();
    },
    async close() {
      const closed = once(front, 'close');
      front.close();
      cutAll();
      await closed;
      for (const pulse of pulses) await pulse.close();
    },
  };
}

const endings: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const member = (node: string, incarnation: string, port: number | null): FleetMember => ({
  node,
  incarnation,
  info: {
    role: 'hybrid',
    tags: [],
    weight: 1,
    draining: false,
    version: '1',
    startedAt: 1,
    pulse: port === null ? null : `127.0.0.1:${port}`,
    clusterAddress: null,
    restUrl: null,
  },
});

interface Watching extends FailureDetector {
  readonly dead: string[];
  /** Number of expired timers (attempts and time-outs), so that a test can wait for several and see that nothing follows. */
  fired(): number;
  /** Sum of the delays of expired timers: what the detector waited, without the time that it was not given the processor. */
  waitedMs(): number;
}

/** On a clock that runs this many times as fast, so that time-outs take less time. */
function watching({ node = 'me', pace = 1 } = {}): Watching {
  const dead: string[] = [];
  let [fired, waitedMs] = [0, 0];
  const clock: Clock = {
    now: systemClock.now,
    // Every connection counts as an old one, so that its end is checked at once.
    monotonic: () => systemClock.monotonic() * 1_000,
    after: (delayMs, call) =>
      systemClock.after(delayMs / pace, () => {
        fired += 1;
        waitedMs += delayMs;
        call();
      }),
  };
  const onDead = (who: string, incarnation: string): void => void dead.push(`${who}/${incarnation}`);
  const watch = startFailureDetector({ node, clock, random: systemRandom, onDead });
  endings.push(() => watch.close());
  return { ...watch, dead, fired: () => fired, waitedMs: () => waitedMs };
}

async function child(node: string, incarnation: string, port = 0): Promise<LivenessProcess> {
  const started = await startLivenessProcess(node, incarnation, port);
  endings.push(() => started.kill());
  return started;
}

async function front(node: string, incarnation: string): Promise<LivenessFront> {
  const started = await startLivenessFront(node, incarnation);
  endings.push(() => started.close());
  return started;
}

async function meets(watch: FailureDetector, ...nodes: readonly string[]): Promise<void> {
  await waitUntil(`connected to ${nodes.join()}`, () => nodes.every((node) => watch.connected().includes(node)));
}

test('a killed process is reported dead within half a second, and once', async () => {
  const [first, second] = [await child('b', 'life-b'), await child('d', 'life-d')];
  const bystander = await front('c', 'life-c');
  const members = [
    member('b', 'life-b', first.port),
    member('c', 'life-c', bystander.port),
    member('d', 'life-d', second.port),
  ];
  const watch = watching();
  watch.watch(members);
  await meets(watch, 'b', 'c', 'd');
  for (const [victim, deaths] of [
    [first, 1],
    [second, 2],
  ] as const) {
    const before = watch.waitedMs();
    await victim.kill();
    await waitUntil('the death is reported', () => watch.dead.length === deaths);
    const tookMs = watch.waitedMs() - before;
    assert.ok(tookMs < 500, `${tookMs} ms`);
    // A poll that does not show the death yet: it is not reported again.
    watch.watch(members);
  }
  assert.deepEqual(watch.dead, ['b/life-b', 'd/life-d']);
});

test('a frozen process is not reported dead, also when its connections are cut; killed while frozen, it is', async () => {
  const frozen = await child('b', 'life-1');
  const proxy = await startLink(frozen.port);
  endings.push(() => proxy.close());
  const [direct, through] = [watching(), watching({ pace: 20 })];
  direct.watch([member('b', 'life-1', frozen.port)]);
  through.watch([member('b', 'life-1', proxy.port)]);
  await meets(direct, 'b');
  await meets(through, 'b');
  frozen.signal('SIGSTOP');
  await waitUntil('it says nothing any more', () => silentFor(frozen.port, 200));
  proxy.refuse();
  proxy.heal();
  // The system still accepts connections, but the process is frozen: probes time out.
  const before = through.fired();
  await waitUntil('some probes without an answer', () => through.fired() > before + 8);
  assert.deepEqual([...direct.dead, ...through.dead], []);
  frozen.signal('SIGCONT');
  await waitUntil('it answers again', async () => !(await silentFor(frozen.port, 200)));
  assert.deepEqual([...direct.dead, ...through.dead], []);
  frozen.signal('SIGSTOP');
  await frozen.kill();
  await waitUntil('the death is reported', () => direct.dead.length > 0);
  assert.deepEqual(through.dead, [], 'a proxy does not refuse');
});

test('after a restart on the same port the old incarnation is reported dead and the new one watched', async () => {
  const first = await child('b', 'life-1');
  const watch = watching();
  watch.watch([member('b', 'life-1', first.port)]);
  await meets(watch, 'b');
  await first.kill();
  const second = await child('b', 'life-2', first.port);
  await waitUntil('the old incarnation is reported dead', () => watch.dead.length > 0);
  watch.watch([member('b', 'life-2', second.port)]);
  await meets(watch, 'b');
  assert.deepEqual(watch.dead, ['b/life-1']);
  await second.kill();
  await waitUntil('the new incarnation is reported dead', () => watch.dead.length > 1);
  assert.deepEqual(watch.dead, ['b/life-1', 'b/life-2']);
});

test('a port that answers as another incarnation reports the old one dead, without a refused connection', async () => {
  const node = await front('b', 'life-1');
  const watch = watching();
  watch.watch([member('b', 'life-1', node.port)]);
  await meets(watch, 'b');
  await node.become('life-2');
  await waitUntil('the old incarnation is reported dead', () => watch.dead.length > 0);
  assert.deepEqual(watch.dead, ['b/life-1']);
  await waitUntil('the probe is not left behind', () => node.open() === 0);
});

test('a cut network reports no death: connections are accepted and end, and the same incarnation answers afterwards', async () => {
  const node = await front('b', 'life-1');
  const proxy = await startLink(node.port);
  endings.push(() => proxy.close());
  const watch = watching({ pace: 20 });
  watch.watch([member('b', 'life-1', proxy.port)]);
  await meets(watch, 'b');
  proxy.refuse();
  await waitUntil('the cut is seen', () => node.open() === 0);
  await waitUntil('some attempts', () => watch.fired() > 5);
  assert.deepEqual(watch.dead, []);
  proxy.heal();
  await meets(watch, 'b');
  assert.equal(node.greeted(), 2);
  assert.deepEqual(watch.dead, []);
});

test('a probe that reaches the same incarnation becomes the connection', async () => {
  const node = await front('b', 'life-1');
  const watch = watching();
  watch.watch([member('b', 'life-1', node.port)]);
  await meets(watch, 'b');
  node.cutAll();
  await waitUntil('it is connected again', () => node.greeted() === 2 && node.open() === 1);
  assert.deepEqual(watch.dead, []);
});

test('a port that refuses from the start proves no death, since no incarnation was seen there', async () => {
  const gone = await startLivenessServer({ node: 'b', incarnation: 'x', host: '127.0.0.1', warn: assert.fail });
  await gone.close();
  const watch = watching({ pace: 20 });
  watch.watch([member('b', 'life-1', gone.port)]);
  await waitUntil('several refusals', () => watch.fired() > 5);
  assert.deepEqual(watch.dead, []);
});

test('each node watches the next three nodes of the ring that announce a liveness port', async () => {
  const pulses = new Map<string, LivenessFront>();
  for (const node of ['a', 'b', 'd', 'e', 'f']) pulses.set(node, await front(node, `life-${node}`));
  const members = [...pulses].map(([node, { port }]) => member(node, `life-${node}`, port));
  const watch = watching({ node: 'c' });
  watch.watch([
    ...members,
    member('d1', 'x', null),
    member('d2', 'x', 70_000),
    { ...member('d3', 'x', 1), info: null },
  ]);
  const open = (): string => [...pulses].flatMap(([node, pulse]) => (pulse.open() > 0 ? [node] : [])).join();
  await waitUntil('d, e and f are watched', () => open() === 'd,e,f');
  watch.watch(members.filter(({ node }) => node !== 'e'));
  await waitUntil('the ring closes over a', () => open() === 'a,d,f');
  watch.close();
  await waitUntil('all connections end', () => open() === '');
});

/** Whether the listener sends nothing for that long. */
function silentFor(port: number, forMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (silent: boolean) => (): void => {
      socket.destroy();
      resolve(silent);
    };
    socket.setTimeout(forMs, answer(true));
    socket.once('data', answer(false));
    socket.once('error', answer(true));
  });
}
