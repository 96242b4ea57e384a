import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { smallFileSystem } from '../support/small-disk.ts';
import { waitUntil } from '../support/wait-until.ts';
import { ProductNode } from './product-node.ts';

const DEBUG = { observability: { logging: { level: 'debug' } } };
/** A node whose only thread waits for its log would answer nothing for seconds. */
const SOON_MS = 5_000;
const MAIN = new URL('../../main.ts', import.meta.url).pathname;
const SVC = new URL('../../cli/svc.ts', import.meta.url).pathname;

/** Each call is a line of the log, at level debug. */
async function refused(node: { readonly url: string }, times: number): Promise<number> {
  let longest = 0;
  for (let n = 0; n < times; n += 1) {
    const began = performance.now();
    assert.equal((await fetch(`${node.url}/v1/there-is-no-such-path/${'x'.repeat(200)}`)).status, 404);
    longest = Math.max(longest, performance.now() - began);
  }
  return longest;
}

/** Sum of the counts in all lines about dropped lines. */
const droppedIn = (log: string): number =>
  [...log.matchAll(/"dropped_lines":(\d+)/g)].reduce((sum, [, lines]) => sum + Number(lines), 0);

describe('the log of a node', { timeout: 300_000 }, () => {
  test('on a full disk: lines are dropped and counted, the node answers and stays up, and logs the count when there is space', async (context) => {
    const disk = await smallFileSystem();
    if (disk === null) return context.skip('no file system may be mounted');
    await using held = disk;
    const file = join(held.directory, 'node.log');
    const descriptor = openSync(file, 'a');
    await using node = await ProductNode.start({ spec: DEBUG, stderr: descriptor });
    closeSync(descriptor);
    const { pid } = node.process;
    await refused(node, 5);
    await waitUntil('the log has lines', () => readFileSync(file, 'utf8').includes('request refused'));
    await held.fill(pid);
    // Lines that fit into the last page of the file are still written.
    const longest = await refused(node, 60);
    assert.ok(longest < SOON_MS, `an answer took ${Math.round(longest)} ms`);
    await held.free(pid);
    await waitUntil('the log reports the number of dropped lines', () => droppedIn(readFileSync(file, 'utf8')) > 0);
    assert.ok(droppedIn(readFileSync(file, 'utf8')) <= 60);
    await refused(node, 1);
    await waitUntil('the log continues', () => readFileSync(file, 'utf8').trimEnd().endsWith('"request refused"}'));
    assert.deepEqual([node.process.exitCode, node.process.pid], [null, pid]);
    await node.process.kill('SIGTERM');
    assert.equal(node.process.exitCode, 0);
  });

  test('a pipe that is not read, or whose reader is gone: the node answers, stays up and stops in order', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-pipe-'));
    const ports = ['http', 'grpc', 'internal', 'internal-grpc'].flatMap((name) => [`--${name}-port`, '0']);
    const config = join(import.meta.dirname, '..', 'support', 'debug-log.yaml');
    const child = spawn(process.execPath, [MAIN, ...ports, '--data', join(directory, 'data'), '--config', config], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    try {
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
      const url = await waitUntil('the node listens', () => /^REST\s+(\S+)/m.exec(output)?.[1], 60_000);
      // Far more than the buffer of a pipe.
      const longest = await refused({ url }, 1_500);
      assert.ok(longest < SOON_MS, `an answer took ${Math.round(longest)} ms`);
      child.stdout.destroy();
      child.stderr.destroy();
      await refused({ url }, 50);
      assert.equal(child.exitCode, null);
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
    } finally {
      child.kill('SIGKILL');
      await rm(directory, { recursive: true, force: true });
    }
  });

  for (const [name, program] of [
    ['node main.ts', [MAIN]],
    ['svc start', [SVC, 'start']],
  ] as const) {
    test(`a pipe whose reader exits during the start: the node continues (${name})`, async () => {
      const directory = await mkdtemp(join(tmpdir(), 'svc-unread-'));
      const ports = ['grpc', 'internal', 'internal-grpc'].flatMap((port) => [`--${port}-port`, '0']);
      const { freePort } = await import('../support/free-port.ts');
      const port = await freePort();
      const args = ['--http-port', String(port), ...ports, '--data', join(directory, 'data')];
      const child = spawn(process.execPath, [...program, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
      try {
        child.stdout.destroy();
        const health = () =>
          fetch(`http://127.0.0.1:${port}/health`).then(
            ({ status }) => status === 200,
            () => false,
          );
        await waitUntil('the node answers', health, 60_000);
        // The first lines of the node come after that.
        const started = performance.now();
        await waitUntil('it has had time to write them', () => performance.now() - started > 500);
        assert.deepEqual([await health(), child.exitCode], [true, null]);
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        assert.deepEqual(await ended, [0, null]);
      } finally {
        child.kill('SIGKILL');
        await rm(directory, { recursive: true, force: true });
      }
    });
  }

  test('a device that is full from the start: the node starts and stops nevertheless', async (context) => {
    if (!existsSync('/dev/full')) return context.skip('there is no /dev/full');
    const directory = await mkdtemp(join(tmpdir(), 'svc-full-'));
    const full = openSync('/dev/full', 'w');
    const data = join(directory, 'data');
    const ports = ['grpc', 'internal', 'internal-grpc'].flatMap((name) => [`--${name}-port`, '0']);
    const { freePort } = await import('../support/free-port.ts');
    const port = await freePort();
    const child = spawn(process.execPath, [MAIN, '--http-port', String(port), ...ports, '--data', data], {
      stdio: ['ignore', full, full],
    });
    try {
      const health = () =>
        fetch(`http://127.0.0.1:${port}/health`).then(
          ({ status }) => status === 200,
          () => false,
        );
      await waitUntil('the node answers', health, 60_000);
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
    } finally {
      child.kill('SIGKILL');
      closeSync(full);
      await rm(directory, { recursive: true, force: true });
    }
  });
});
