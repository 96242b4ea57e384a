import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { BUSYBOX, NEEDS_PODMAN } from '../../support/podman.ts';
import { TENANT } from '../../support/podman-containers.ts';
import { waitUntil } from '../../support/wait-until.ts';
import {
  type AgentUnderTest,
  agentUnderTest,
  EXECUTION,
  exec,
  final,
  loop,
  runAgent,
  TOKEN,
} from './agent-under-test.ts';

const containerOf = (progress: readonly unknown[]): string => {
  const [first] = progress;
  assert.ok(typeof first === 'object' && first !== null && 'container_id' in first, JSON.stringify(progress));
  return String(first.container_id);
};

const textOf = (progress: readonly unknown[]): string =>
  progress
    .slice(1)
    .map((value) => String(Object(value).text))
    .join('');

describe('an agent in a container', NEEDS_PODMAN, () => {
  let at: AgentUnderTest;
  before(async () => {
    at = await agentUnderTest();
  });
  after(async () => {
    await at[Symbol.asyncDispose]();
  });

  test('the node’s bootstrap sends the prompt, runs the dispatched commands, and prints the final answer', async () => {
    const look = 'id -u; id -g; pwd; ls /sys/class/net; echo "$EXTRA"; echo kept > file; echo to stderr >&2; exit 3';
    const { result, asked, progress } = await at.run([
      exec(look, { dispatch_id: 'd-1', env_additions: { EXTRA: "it's" } }),
      exec('cat file', { dispatch_id: 'd-2' }),
      final('all\n"done" ü'),
    ]);
    assert.deepEqual([result.exit_code, result.stdout, result.stderr], [0, 'all\n"done" ü', '']);
    assert.deepEqual(
      asked.map(({ call }) => call),
      ['generate', 'dispatch_result', 'dispatch_result'].map((name) => `${name} ${TENANT} ${EXECUTION}`),
    );
    assert.deepEqual(asked[0]?.request, {
      ...{ agent_id: 'a1', iteration_number: 1, model_alias: 'default', prompt: 'do it', messages: [] },
    });
    const { duration_ms, ...first } = asked[1]?.request ?? {};
    assert.ok(Number(duration_ms) >= 0);
    assert.deepEqual(first, {
      dispatch_id: 'd-1',
      exit_code: 3,
      stdout: "1000\n1000\n/workspace\nlo\nit's\n",
      stderr: 'to stderr\n',
      truncated: false,
    });
    assert.equal(asked[2]?.request.stdout, 'kept\n');
    assert.equal(progress.length, 1, 'its chunks come from the inner loop');
    assert.match(containerOf(progress), /^[0-9a-f]{64}$/);
    assert.equal(await readFile(join(at.setup.volume(EXECUTION), 'file'), 'utf8'), 'kept\n');
    assert.deepEqual(await readdir(at.boxes), [], 'its exchange is gone');
  });

  test('the identity of the agent is durable before its bootstrap begins', async () => {
    const order: string[] = [];
    const onProgress = async (value: unknown) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      order.push(Object.keys(Object(value)).join());
      return true;
    };
    const made = loop([
      async () => {
        order.push('generate');
        return final('x');
      },
    ]);
    await runAgent(at.parts(made.gateway), {}, { progress: onProgress });
    assert.deepEqual(order, ['container_id', 'generate']);
  });

  test('a custom bootstrap gets the prompt and streams what it prints', async () => {
    const own = await at.own('printf "%s|" "$1"; sleep 1.5; echo second; echo bad >&2; exit 4');
    const { result, progress, asked } = await at.run([], { ...own, prompt: 'a  b\n$(c)' });
    assert.deepEqual([result.exit_code, result.stdout, result.stderr], [4, 'a  b\n$(c)|second\n', 'bad\n']);
    assert.equal(textOf(progress), 'a  b\n$(c)|second\n');
    assert.ok(progress.length >= 3, 'it arrived in pieces');
    assert.deepEqual(asked, []);
  });

  test('a prompt too long for an argument is passed completely, in a file', async () => {
    const prompt = 'ü"\n'.repeat(100_000);
    const { asked } = await at.run([final('x')], { prompt });
    assert.equal(asked[0]?.request.prompt, prompt);
    const own = await at.own('echo "$#"; wc -c < "$SVC_PROMPT_FILE"; touch "$SVC_PROMPT_FILE"');
    const { result } = await at.run([], { ...own, prompt });
    assert.equal(result.stdout, `0\n${Buffer.byteLength(prompt)}\n`);
    assert.match(result.stderr, /touch/);
  });

  test('secrets are looked up for the tenant and removed from its output, the token too', async () => {
    const made = loop([]);
    const secrets = { resolve: async (tenant: string, name: string) => `${tenant}-${name}-value` };
    const own = await at.own('env | grep -E "^(KEY|TEXT|PLAIN|SVC_)" | sort');
    const env = { KEY: 'secret:k', TEXT: 'literal:secret:x', PLAIN: 'env:HOME', SVC_ORCHESTRATOR_URL: 'http://evil' };
    const { result, progress } = await runAgent(at.parts(made.gateway, { secrets }), { ...own, env });
    assert.deepEqual(result.stdout.trim().split('\n'), [
      'KEY=[redacted]',
      'PLAIN=env:HOME',
      'SVC_ORCHESTRATOR_URL=http://127.0.0.1:8081/x/[redacted]',
      'SVC_PRIVATE_ENV=KEY TEXT PLAIN SVC_ORCHESTRATOR_URL SVC_SEAL_ENABLED SVC_SEAL_GATEWAY_URL SVC_PROMPT_FILE',
      'SVC_SEAL_ENABLED=true',
      'SVC_SEAL_GATEWAY_URL=http://127.0.0.1:8081',
      'TEXT=secret:x',
    ]);
    assert.ok(!JSON.stringify(progress).includes(TOKEN));
  });

  test('an agent over its memory or time limit is ended, and the result names the limit', async () => {
    const big = await at.own('x=$(head -c 100000000 /dev/zero | tr "\\0" x); echo no');
    const limits = { timeout_ms: 120_000, memory_bytes: 32 * 1_048_576 };
    const killed = (await at.run([], { ...big, limits })).result;
    assert.deepEqual([killed.exit_code, killed.signal, killed.stopped_by], [137, 'SIGKILL', 'memory']);
    const slow = await at.own('trap "" TERM; echo began; sleep 60');
    const late = (await at.run([], { ...slow, limits: { timeout_ms: 1_500 } })).result;
    assert.deepEqual([late.timed_out, late.stopped_by, late.stdout], [true, 'timeout', 'began\n']);
  });

  test('a long output is cut at the limit of the input, and the result says so', async () => {
    const own = await at.own('head -c 5000 /dev/zero | tr "\\0" y');
    const { result, progress } = await at.run([], { ...own, limits: { timeout_ms: 30_000, output_bytes: 1_000 } });
    assert.equal(result.stdout, 'y'.repeat(1_000));
    assert.equal(result.stdout_truncated, true);
    assert.equal(textOf(progress).length, 1_000);
  });

  test('a cancel removes the container and its exchange', async () => {
    const stop = new AbortController();
    const effectId = randomUUID();
    const made = loop([
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        }),
    ]);
    const running = runAgent(at.parts(made.gateway), {}, { effectId, signal: stop.signal }).catch(
      (error: unknown) => error,
    );
    await waitUntil('the agent asks', () => made.asked.length > 0);
    at.setup.unwanted.add(effectId);
    stop.abort(new SvcError('cancelled'));
    const error = await running;
    assert.ok(error instanceof SvcError && error.code === 'cancelled', String(error));
    await assert.rejects(at.setup.podman.docker.getContainer(`svc-${effectId}`).inspect(), { statusCode: 404 });
    assert.deepEqual(await readdir(at.boxes), []);
  });

  test('an agent that its actor no longer waits for is ended', async () => {
    const effectId = randomUUID();
    const made = loop([]);
    const progress = async () => {
      at.setup.unwanted.add(effectId);
      return false;
    };
    await assert.rejects(
      runAgent(at.parts(made.gateway), {}, { effectId, progress }),
      (error) => error instanceof SvcError && error.code === 'cancelled',
    );
    assert.deepEqual(made.asked, []);
    await assert.rejects(at.setup.podman.docker.getContainer(`svc-${effectId}`).inspect(), { statusCode: 404 });
  });

  test('an error of the loop ends the bootstrap with exit code 1 and the message of the gateway', async () => {
    const made = loop([async () => Promise.reject(new SvcError('model_failed', 'the model said no'))]);
    const { result } = await runAgent(at.parts(made.gateway));
    assert.equal(result.exit_code, 1);
    assert.match(result.stderr, /model_failed: the model said no/);
  });

  test('without an engine, and for an unknown runtime, an agent is refused by name', async () => {
    const { gateway } = loop([]);
    await assert.rejects(runAgent(at.parts(gateway, { engine: null })), {
      code: 'unsupported_isolation',
      message: /no container engine/,
    });
    await assert.rejects(runAgent(at.parts(gateway), { language: 'python', version: '2.7' }), {
      code: 'unsupported_runtime',
      message: /python 2\.7 .* which has python 3\.9, 3\.10, 3\.11, 3\.12, 3\.13/,
    });
  });

  test('a deprecated runtime runs, and its warning reaches the bootstrap', async () => {
    const own = await at.own('echo "$SVC_TYPESCRIPT_VERSION"');
    const entry = { image: BUSYBOX, deprecated: true, env: { SVC_TYPESCRIPT_VERSION: '5.1' } };
    const parts = {
      ...at.parts(loop([]).gateway),
      runtimes: { runtimes: { typescript: { '5.1': entry } }, defaultImage: 'x' },
    };
    const { result } = await runAgent(parts, { ...own, language: 'typescript', version: '5.1' });
    assert.equal(result.stdout, '5.1\n');
  });

  test('an ended container is kept for inspection only where the node says so', async () => {
    const own = await at.own('true');
    const env = { SVC_KEEP_CONTAINER: 'true' };
    for (const keep of [false, true]) {
      const ended: string[] = [];
      const effectId = randomUUID();
      const parts = { ...at.parts(loop([]).gateway, { onEnd: ({ effectId: id }) => void ended.push(id) }), keep };
      await runAgent(parts, { ...own, env }, { effectId });
      assert.deepEqual(ended, keep ? [] : [effectId]);
      const { Config } = await at.setup.podman.docker.getContainer(`svc-${effectId}`).inspect();
      assert.equal(Config.Labels['dev.svc.keep'], keep ? 'true' : undefined);
    }
  });
});
