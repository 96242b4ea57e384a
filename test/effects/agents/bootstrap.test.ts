import assert from 'node:assert/strict';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pack } from '../../../cli/package.ts';
import { bootstrapScript, prepareExchange } from '../../../effects/agents/exchange-directory.ts';
import { startExchange } from '../../../effects/agents/file-exchange.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { answerGateway, type GatewayAnswer } from '../../../usecases/gateway.ts';
import {
  AGENT,
  bootstrap,
  dispatch,
  EXECUTION,
  final,
  gateway,
  NEEDS_SHELLS,
  type Place,
  places,
  privateDirectory,
  ScriptedLoop,
  TOKEN,
} from './bootstrap-places.ts';

const HOSTILE = ['a b', "it's", '"', '$HOME', '`id`', '$(id)', 'x\ny', '-n', '', '\\', '*', 'é€', '\t', ';rm', "'\\''"];

describe('the bootstrap in POSIX shell', NEEDS_SHELLS, () => {
  let shells: Awaited<ReturnType<typeof places>>;
  let directory: Awaited<ReturnType<typeof privateDirectory>>;
  before(async () => {
    directory = await privateDirectory();
    shells = await places(directory.path);
  });
  after(() => directory[Symbol.asyncDispose]());

  /** Over HTTP with every client, and over files; in both shells. */
  const ways = ['curl', 'wget', 'node', 'python', 'busybox', 'files', 'busybox files'] as const;
  for (const way of ways) {
    test(`runs a whole iteration by ${way}`, async () => {
      const content = "the end: 'quoted'\n\n$HOME \\ \u0000 é\n\n";
      const env_additions = { A: "1'\n$B", B: '2' };
      const loop = new ScriptedLoop([
        dispatch('printf', ['%s\n', ...HOSTILE], { dispatch_id: 'd 1' }),
        dispatch('sh', ['-c', 'printf "%s" "$A"; echo problem >&2; exit 3'], { env_additions }),
        final(content),
      ]);
      const ended = await throughWay(way, loop, 'line one\nline "two"');
      assert.equal(ended.stderr, '');
      assert.equal(ended.code, 0);
      assert.equal(ended.stdout.toString(), content);
      const prompt = 'line one\nline "two"';
      assert.deepEqual(loop.asked, [
        { agent_id: AGENT, iteration_number: 1, model_alias: 'fast', prompt, messages: [] },
      ]);
      const words = HOSTILE.map((word) => `${word}\n`).join('');
      assert.deepEqual(
        loop.results.map(({ duration_ms, ...result }) => result),
        [
          { dispatch_id: 'd 1', exit_code: 0, stdout: words, stderr: '', truncated: false },
          { dispatch_id: 'd-sh', exit_code: 3, stdout: "1'\n$B", stderr: 'problem\n', truncated: false },
        ],
      );
    });
  }

  async function throughWay(way: (typeof ways)[number], loop: ScriptedLoop, prompt: string) {
    if (way === 'files') return throughFiles(shells.curl, loop, prompt);
    if (way === 'busybox files') return throughFiles(shells.busybox, loop, prompt);
    await using server = await gateway(loop);
    return await bootstrap(shells[way], prompt, { SVC_ORCHESTRATOR_URL: server.url, SVC_MAILBOX: '/nowhere' });
  }

  async function throughFiles(place: Place, loop: ScriptedLoop, prompt: string) {
    await using box = await privateDirectory();
    const ending = new AbortController();
    await prepareExchange(box.path);
    const caller = { tenant: 'acme', executionId: EXECUTION };
    const relay = startExchange({
      directory: box.path,
      signal: ending.signal,
      handle: (request, signal) => answerGateway(loop, caller, request, { signal }),
    });
    const ended = await bootstrap(place, prompt, { SVC_MAILBOX: box.path });
    ending.abort();
    await relay;
    return ended;
  }

  for (const shell of ['curl', 'busybox'] as const) {
    const results = async (...answers: readonly GatewayAnswer[]) => {
      const loop = new ScriptedLoop([...answers, final('')]);
      const ended = await throughFiles(shells[shell], loop, 'go');
      assert.equal(ended.code, 0, ended.stderr);
      return loop.results;
    };

    test(`keeps the tail of a long output, half of the limit for each stream, and a short output completely (${shell})`, async () => {
      const flood = 'yes aaaaaaa | head -c 3000000; printf END; yes bbbbbbb | head -c 3000000 >&2; printf FIN >&2';
      const [result] = await results(dispatch('sh', ['-c', flood], { max_output_bytes: 1_000 }));
      assert.equal(result?.truncated, true);
      assert.equal(result?.stdout.length, 500);
      assert.equal(result?.stderr.length, 500);
      assert.ok(result?.stdout.endsWith('aaa\nEND') && result.stderr.endsWith('bbb\nFIN'));
      const [exact] = await results(dispatch('printf', ['%s', 'x'.repeat(1_000)], { max_output_bytes: 1_000 }));
      assert.deepEqual([exact?.truncated, exact?.stdout.length], [false, 1_000]);
    });

    test(`ends a command that ignores SIGTERM with all it started (${shell})`, async () => {
      await using place = await privateDirectory();
      const stubborn = `trap "" TERM; (sleep 6; echo alive >${place.path}/child) & sleep 30`;
      const [result] = await results(
        dispatch('sh', ['-c', `echo before; ${stubborn}`], { timeout_secs: 3 }),
        // Until after the child would have written if it were still alive.
        dispatch('sleep', ['6']),
      );
      assert.equal(result?.exit_code, -1);
      assert.equal(result?.stdout, 'before\n');
      assert.ok((result?.duration_ms ?? 0) >= 2_900, String(result?.duration_ms));
      assert.deepEqual(await readdir(place.path), []);
    });

    test(`is not delayed by processes that a command leaves behind (${shell})`, async () => {
      const [left, hidden] = await results(
        dispatch('sh', ['-c', 'sleep 600 & echo done']),
        dispatch('sh', ['-c', 'setsid sleep 15 & sleep 1; echo done']),
      );
      assert.deepEqual([left?.exit_code, left?.stdout], [0, 'done\n']);
      assert.deepEqual([hidden?.exit_code, hidden?.truncated], [0, true]);
    });

    test(`reports a command that cannot be started with the exit code of shells (${shell})`, async () => {
      const seen = await results(
        dispatch('no-such-program'),
        dispatch('/etc/passwd'),
        dispatch('ls', [], { cwd: '/no/such/place' }),
        dispatch('cd', ['/']),
        dispatch('fly', [], { action: 'teleport' }),
      );
      assert.deepEqual(
        seen.map(({ exit_code }) => exit_code),
        [127, 126, 127, 127, -1],
      );
      assert.equal(seen[0]?.stderr, 'command_not_found:no-such-program');
      assert.equal(seen[4]?.stderr, 'unknown_action:teleport');
    });

    test(`hides the credentials of the gateway from the commands it runs (${shell})`, async () => {
      const loop = new ScriptedLoop([dispatch('env'), final('')]);
      await using server = await gateway(loop);
      const env = { SVC_ORCHESTRATOR_URL: server.url, SVC_SEAL_TOKEN: TOKEN, SVC_MAILBOX: '/nowhere', KEPT: 'yes' };
      const ended = await bootstrap(shells[shell], 'go', env);
      assert.equal(ended.code, 0, ended.stderr);
      assert.match(loop.results[0]?.stdout ?? '', /^KEPT=yes$/m);
      assert.ok(!loop.results[0]?.stdout.includes(TOKEN));
    });

    test(`exits with 1 and prints the reason when the gateway refuses (${shell})`, async () => {
      for (const refusal of [
        new SvcError('model_failed', "the provider's answer: nonsense"),
        new SvcError('rate_limited', 'too many model calls'),
        new SvcError('failed_precondition', 'the execution has ended'),
      ]) {
        const loop = new ScriptedLoop([refusal]);
        await using server = await gateway(loop);
        const env = { SVC_ORCHESTRATOR_URL: server.url, SVC_MAILBOX: '/nowhere' };
        const ended = await bootstrap(shells[shell], 'go', env);
        assert.equal(ended.code, 1);
        assert.match(ended.stderr, /gateway error/);
        assert.equal(ended.stdout.length, 0);
        // Not every wget prints the body of an error.
        if (shell === 'curl') assert.ok(ended.stderr.includes(refusal.message), ended.stderr);
        assert.equal(loop.asked.length, 1);
      }
    });

    test(`retries after a broken connection and while the node is down (${shell})`, async () => {
      const loop = new ScriptedLoop([final('at last')]);
      const broken = createServer((request) => void request.socket.destroy());
      await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve));
      const { port } = broken.address() as AddressInfo;
      const met = new Promise((resolve) => broken.once('connection', resolve));
      const running = bootstrap(shells[shell], 'go', {
        SVC_ORCHESTRATOR_URL: `http://127.0.0.1:${port}/x/${TOKEN}`,
        SVC_MAILBOX: '/nowhere',
        SVC_RETRIES: '20',
      });
      await met;
      await new Promise((resolve) => broken.close(resolve));
      await using _server = await gateway(loop, { port });
      const ended = await running;
      assert.deepEqual([ended.code, ended.stdout.toString()], [0, 'at last'], ended.stderr);
    });
  }

  test('retries when the gateway answers that it is temporarily unavailable', async () => {
    const loop = new ScriptedLoop([new SvcError('unavailable', 'moving'), final('at last')]);
    const ended = await throughFiles(shells.busybox, loop, 'go');
    assert.deepEqual([ended.code, ended.stdout.toString(), loop.asked.length], [0, 'at last', 2]);
  });

  test('never runs an answer that is not from a gateway', async () => {
    await using place = await privateDirectory();
    const stranger = createServer((_request, response) => response.end(`touch ${place.path}/run\n`));
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const { port } = stranger.address() as AddressInfo;
    const env = { SVC_ORCHESTRATOR_URL: `http://127.0.0.1:${port}`, SVC_MAILBOX: '/nowhere' };
    const ended = await bootstrap(shells.curl, 'go', env);
    stranger.closeAllConnections();
    await new Promise((resolve) => stranger.close(resolve));
    assert.equal(ended.code, 1);
    assert.deepEqual(await readdir(place.path), []);
  });

  test('gives up with exit code 1 when no answer comes for long', async () => {
    const ended = await bootstrap(shells.curl, 'go', {
      SVC_ORCHESTRATOR_URL: 'http://127.0.0.1:1/x/t',
      SVC_MAILBOX: '/nowhere',
      SVC_RETRIES: '1',
    });
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /no answer/);
  });
});

test('the bootstrap is among the files of the package', async () => {
  await using place = await privateDirectory();
  await mkdir(join(place.path, 'dist'));
  await pack(join(place.path, 'dist'));
  const shipped = await readFile(join(place.path, 'dist/effects/agents/bootstrap/bootstrap.sh'));
  assert.ok(shipped.equals(await bootstrapScript()));
});
