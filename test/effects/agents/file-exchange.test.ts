import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { link, mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { prepareExchange } from '../../../effects/agents/exchange-directory.ts';
import { type ExchangeParts, startExchange } from '../../../effects/agents/file-exchange.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { GatewayAnswer, GatewayHandler, GatewayRequest } from '../../../usecases/gateway.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AGENT, dispatch, EXECUTION, final, privateDirectory } from './bootstrap-places.ts';

const generate = (prompt: string): Record<string, unknown> => ({
  type: 'generate',
  agent_id: AGENT,
  execution_id: EXECUTION,
  iteration_number: 1,
  prompt,
});

/** An exchange and, on request, its relay; the test takes the part of the container. */
async function setup(answer: (request: GatewayRequest) => GatewayAnswer | Promise<GatewayAnswer>) {
  const exchange = await privateDirectory();
  await prepareExchange(exchange.path);
  const handled: GatewayRequest[] = [];
  const out = join(exchange.path, 'out');
  const handle: GatewayHandler = async (request) => {
    handled.push(request);
    return answer(request);
  };
  /** Ends with `stop`; its result or error is its outcome. */
  const relay = (more: Partial<ExchangeParts> = {}) => {
    const ending = new AbortController();
    const outcome = startExchange({ directory: exchange.path, handle, signal: ending.signal, ...more }).then(
      () => 'ended',
      (thrown: unknown) => thrown,
    );
    return {
      outcome,
      async stop() {
        ending.abort();
        return outcome;
      },
    };
  };
  const send = async (number: number, text: string | Uint8Array) => {
    await writeFile(join(out, `${number}.tmp`), text);
    await rename(join(out, `${number}.tmp`), join(out, `${number}.request`));
  };
  const answerOf = (number: number): Promise<string> =>
    waitUntil(`answer ${number} exists`, () =>
      readFile(join(exchange.path, 'in', `${number}.answer`), 'utf8').catch(() => null),
    );
  return {
    ...{ path: exchange.path, out, handled, relay, send, answerOf },
    json: async (number: number) => JSON.parse(await answerOf(number)),
    [Symbol.asyncDispose]: () => exchange[Symbol.asyncDispose](),
  };
}

describe('the file exchange of a container', () => {
  test('answers requests one after the other, each in the form of the request', async () => {
    await using exchange = await setup((request) =>
      request.type === 'generate' ? dispatch('git', ['status']) : final(`${request.stdout}!`),
    );
    const relay = exchange.relay();
    await exchange.send(1, JSON.stringify(generate('hello')));
    assert.deepEqual(await exchange.json(1), dispatch('git', ['status']));
    const head = `execution_id ${EXECUTION}\ndispatch_id d-git\nexit_code 0\nduration_ms 1\ntruncated false`;
    await exchange.send(2, `dispatch_result\n${head}\nstdout_bytes 4\nstderr_bytes 0\n\ngo\n\n`);
    assert.match(await exchange.answerOf(2), /^svc_type='final'\n[\s\S]*\nreturn 0\ngo\n\n!$/);
    assert.equal(await relay.stop(), 'ended');
    assert.deepEqual(
      exchange.handled.map(({ type }) => type),
      ['generate', 'dispatch_result'],
    );
  });

  test('answers an error as an error, shows nothing of a bug, and continues', async () => {
    await using exchange = await setup((request) => {
      if (request.type === 'generate' && request.prompt === 'bug') throw new Error('password is swordfish');
      throw new SvcError('unavailable', 'moving', { retryAfterMs: 2_500 });
    });
    const relay = exchange.relay();
    await exchange.send(1, JSON.stringify(generate('x')));
    assert.deepEqual(await exchange.json(1), { error: 'unavailable', message: 'moving', retry_secs: 3 });
    await exchange.send(2, JSON.stringify(generate('bug')));
    const bug = await exchange.json(2);
    assert.deepEqual([bug.error, bug.retry_secs], ['internal', 0]);
    assert.ok(!bug.message.includes('swordfish'));
    await exchange.send(3, JSON.stringify({ ...generate('x'), colour: 'red' }));
    assert.match((await exchange.json(3)).message, /colour/);
    await exchange.send(4, '{"type":');
    assert.equal((await exchange.json(4)).error, 'invalid_argument');
    await exchange.send(5, Buffer.from([0xff, 0xfe, 0]));
    assert.match(await exchange.answerOf(5), /^svc_type='error'/);
    assert.equal(await relay.stop(), 'ended');
  });

  test('a relay that starts later answers the requests without an answer, and none twice', async () => {
    const never = new Promise<GatewayAnswer>(() => {});
    let isFirst = true;
    await using exchange = await setup((request) => {
      if (request.type !== 'generate') throw new Error('not sent');
      if (request.prompt === 'two' && isFirst) {
        isFirst = false;
        return never;
      }
      return final(request.prompt);
    });
    const first = exchange.relay();
    await exchange.send(1, JSON.stringify(generate('one')));
    assert.equal((await exchange.json(1)).content, 'one');
    await exchange.send(2, JSON.stringify(generate('two')));
    await waitUntil('the second request is being handled', () => exchange.handled.length === 2);
    // The first relay never continues from there, as if it were dead.
    const second = exchange.relay();
    assert.equal((await exchange.json(2)).content, 'two');
    await exchange.send(3, JSON.stringify(generate('three')));
    assert.equal((await exchange.json(3)).content, 'three');
    assert.equal(await second.stop(), 'ended');
    void first;
    const prompts = exchange.handled.map((request) => (request.type === 'generate' ? request.prompt : ''));
    assert.deepEqual(prompts, ['one', 'two', 'two', 'three']);
  });

  test('a relay that is stopped leaves its request to the next one', async () => {
    await using exchange = await setup(() => final('answered'));
    const waiting: GatewayHandler = (_request, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
    const ending = new AbortController();
    const ended = startExchange({ directory: exchange.path, handle: waiting, signal: ending.signal });
    await exchange.send(1, JSON.stringify(generate('x')));
    await new Promise((resolve) => setTimeout(resolve, 50));
    ending.abort();
    await ended;
    assert.deepEqual(await readdir(join(exchange.path, 'in')), []);
    const relay = exchange.relay();
    assert.equal((await exchange.json(1)).content, 'answered');
    await relay.stop();
  });

  test('keeps at most one exchange, however many requests the agent sends', async () => {
    await using exchange = await setup(() => final('y'));
    const relay = exchange.relay({ maxRequests: 20 });
    for (let number = 1; number <= 20; number += 1) {
      await exchange.send(number, JSON.stringify(generate(String(number))));
      await exchange.answerOf(number);
    }
    await waitUntil('older answers are gone', async () => (await readdir(join(exchange.path, 'in'))).length === 1);
    assert.deepEqual(await readdir(exchange.out), []);
    await exchange.send(21, JSON.stringify(generate('too much')));
    const outcome = await relay.outcome;
    assert.ok(outcome instanceof SvcError && /more than 20 requests/.test(outcome.message));
  });
});

describe('a hostile container', { skip: process.platform !== 'linux' && 'NOT TESTED: needs Linux' }, () => {
  const SECRET = 'only the node may read this';

  test('a hostile container gets no data through links, pipes, sockets, devices, directories and huge files', async () => {
    await using elsewhere = await privateDirectory();
    await using exchange = await setup(() => final('taken'));
    const secret = join(elsewhere.path, 'secret');
    await writeFile(secret, JSON.stringify(generate(SECRET)));
    const at = (number: number): string => join(exchange.out, `${number}.request`);
    const tricks: readonly ((path: string) => Promise<unknown> | unknown)[] = [
      (path) => symlink(secret, path),
      (path) => symlink('../../../../../../../../etc/passwd', path),
      (path) => symlink('/proc/self/environ', path),
      (path) => symlink(path, path),
      (path) => symlink('/dev/zero', path),
      (path) => symlink('/proc/self/fd/0', path),
      (path) => execFileSync('mkfifo', [path]),
      (path) => mkdir(path),
      async (path) => {
        await mkdir(path);
        await mkdir(join(path, 'full'));
      },
      async (path) => {
        await writeFile(path, '');
        await truncate(path, 1024 ** 4);
      },
      (path) => writeFile(path, Buffer.alloc(70_000, 'x')),
      (path) => writeFile(path, ''),
      (path) => writeFile(path, `${'['.repeat(60_000)}`),
      (path) => writeFile(path, `{"type":${'['.repeat(30_000)}${']'.repeat(30_000)}}`),
      (path) => writeFile(path, `generate\n${'a b\n'.repeat(10_000)}`),
      (path) => writeFile(path, 'generate\nprompt_bytes 999999999\n\nx'),
      (path) => writeFile(path, 'generate\nprompt_bytes -1\n\nx'),
      (path) => writeFile(path, '__proto__\nprompt_bytes 0\n\n'),
      async (path) => {
        const server = createServer();
        await new Promise<void>((resolve) => server.listen(path, resolve));
        // Closing removes the file, so it must be read first.
        await exchange.answerOf(19);
        await new Promise((resolve) => server.close(resolve));
      },
    ];
    const relay = exchange.relay({ maxRequestBytes: 64 * 1024 });
    for (const [index, trick] of tricks.entries()) {
      await trick(at(index + 1));
      const answer = await exchange.answerOf(index + 1);
      assert.match(answer, /invalid_argument|internal/, `trick ${index + 1}`);
      assert.ok(!answer.includes(SECRET) && !answer.includes('root:'));
    }
    if (process.getuid?.() === 0) {
      execFileSync('mknod', [at(20), 'c', '1', '5']);
      assert.match(await exchange.answerOf(20), /not a regular file/);
    } else await exchange.send(20, 'x');
    await exchange.send(21, JSON.stringify(generate('still here')));
    assert.equal((await exchange.json(21)).content, 'taken');
    assert.equal(await relay.stop(), 'ended');
    assert.equal(exchange.handled.length, 1);
    assert.equal(await readFile(secret, 'utf8'), JSON.stringify(generate(SECRET)));
  });

  test('a hostile container cannot make the node write elsewhere, even where it may change the whole exchange', async () => {
    await using elsewhere = await privateDirectory();
    await using exchange = await setup(() => final('mine'));
    const relay = exchange.relay();
    await exchange.send(1, JSON.stringify(generate('x')));
    await exchange.answerOf(1);
    // The directory of answers is replaced by a link while the relay runs.
    await rename(join(exchange.path, 'in'), join(exchange.path, 'in.old'));
    await symlink(elsewhere.path, join(exchange.path, 'in'));
    await exchange.send(2, JSON.stringify(generate('x')));
    await waitUntil('the answer is in the directory that it was', async () =>
      (await readdir(join(exchange.path, 'in.old'))).includes('2.answer'),
    );
    // And the name of an answer is a link beforehand.
    const victim = join(elsewhere.path, 'victim');
    await writeFile(victim, 'untouched');
    await symlink(victim, join(exchange.path, 'in.old', '3.answer'));
    await exchange.send(3, JSON.stringify(generate('x')));
    await waitUntil('the link is replaced', async () =>
      (await readFile(join(exchange.path, 'in.old', '3.answer'), 'utf8')).includes('mine'),
    );
    assert.equal(await relay.stop(), 'ended');
    assert.deepEqual(await readdir(elsewhere.path), ['victim']);
    assert.equal(await readFile(victim, 'utf8'), 'untouched');
    // A relay that starts on such an exchange refuses it.
    const outcome = await exchange.relay().outcome;
    assert.ok(outcome instanceof SvcError && outcome.code === 'failed_precondition');
  });

  test('a request that is replaced by a link while it is read reveals no data', async () => {
    await using elsewhere = await privateDirectory();
    await using exchange = await setup((request) => final(request.type === 'generate' ? request.prompt : ''));
    const secret = join(elsewhere.path, 'secret');
    await writeFile(secret, JSON.stringify(generate(SECRET)));
    await writeFile(join(exchange.out, 'good'), JSON.stringify(generate('fine')));
    await symlink(secret, join(exchange.out, 'bad'));
    const relay = exchange.relay();
    for (let number = 1; number <= 60; number += 1) {
      const name = join(exchange.out, `${number}.request`);
      await link(join(exchange.out, 'good'), name);
      await link(join(exchange.out, 'bad'), `${name}.tmp`);
      await rename(`${name}.tmp`, name).catch(() => {});
      const answer = await exchange.answerOf(number);
      assert.ok(!answer.includes(SECRET));
      await rm(`${name}.tmp`, { force: true });
    }
    assert.equal(await relay.stop(), 'ended');
  });

  test('a hostile container that floods its directory with files is still served, and the node stays responsive', async () => {
    await using exchange = await setup(() => final('served'));
    const flood = 'i=0; while [ $i -lt 4000 ]; do : >"f$i"; i=$((i + 1)); done';
    execFileSync('sh', ['-c', flood], { cwd: exchange.out });
    const relay = exchange.relay();
    const before = process.cpuUsage();
    execFileSync('sh', ['-c', flood.replaceAll('f$i', 'g$i')], { cwd: exchange.out });
    await exchange.send(1, JSON.stringify(generate('x')));
    assert.equal((await exchange.json(1)).content, 'served');
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 2_000_000, `${(user + system) / 1_000} ms of processor time`);
    await relay.stop();
  });

  test('a hostile container that fills the disk of its node, with bytes or with files, is ended', async () => {
    const quota = { bytes: 1024 * 1024, entries: 50, everyMs: 20 };
    const fill = 'mkdir -p a/b; head -c 2097152 /dev/zero > a/b/big';
    for (const mess of [fill, 'mkdir d; i=0; while [ $i -lt 60 ]; do : >"d/$i"; i=$((i + 1)); done']) {
      await using exchange = await setup(() => final('never'));
      const taken = Promise.withResolvers<void>();
      const handle: GatewayHandler = (_request, signal) => {
        taken.resolve();
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      };
      await writeFile(join(exchange.out, 'sparse'), '');
      await truncate(join(exchange.out, 'sparse'), 1024 ** 3);
      const relay = exchange.relay({ quota, handle });
      await exchange.send(1, JSON.stringify(generate('a long wait')));
      await taken.promise;
      execFileSync('sh', ['-c', mess], { cwd: exchange.out });
      const outcome = await relay.outcome;
      assert.ok(outcome instanceof SvcError && outcome.code === 'quota_exceeded', String(outcome));
    }
  });
});
