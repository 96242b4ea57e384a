import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { redisMissing, startRedis } from '../support/redis.ts';
import { sample } from '../support/size.ts';

const PROCESSES = 8;
const LIMIT = 400;
const WINDOW_MS = 1_000;
const WINDOWS = sample({ normal: 2, long: 5 });
const Report = z.object({ asked: z.number(), given: z.array(z.tuple([z.number(), z.number()])) });
const program = join(import.meta.dirname, 'rate-limits-hammer.ts');

/**
 * Whether every answer fits into one of its possible windows, with at most the limit in each: earliest end first, each
 * into the first possible window with a free place.
 */
function fits(given: readonly (readonly [number, number])[]): boolean {
  const filled = new Map<number, number>();
  for (const [from, to] of given.toSorted((a, b) => a[1] - b[1] || a[0] - b[0])) {
    let window = Math.floor(from / WINDOW_MS);
    while ((filled.get(window) ?? 0) >= LIMIT) window += 1;
    if (window > Math.floor(to / WINDOW_MS)) return false;
    filled.set(window, (filled.get(window) ?? 0) + 1);
  }
  return true;
}

test('eight processes at once never take more than the limit of a window', {
  skip: redisMissing() ?? false,
  timeout: 300_000,
}, async (t) => {
  const server = await startRedis();
  t.after(() => server.stop());
  const nodes: ChildProcess[] = [];
  t.after(() => {
    for (const node of nodes) node.kill('SIGKILL');
  });
  for (let n = 0; n < PROCESSES; n += 1)
    nodes.push(fork(program, [server.url, LIMIT, WINDOW_MS, 16].map(String), { stdio: 'inherit' }));
  await Promise.all(nodes.map((node) => once(node, 'message')));
  const until = (Math.floor(Date.now() / WINDOW_MS) + 1 + WINDOWS) * WINDOW_MS;
  const reports = await Promise.all(
    nodes.map(async (node) => {
      const answered = once(node, 'message');
      node.send(until);
      return Report.parse((await answered)[0]);
    }),
  );

  const given = reports.flatMap((report) => report.given);
  const asked = reports.reduce((sum, report) => sum + report.asked, 0);
  const certain = new Map<number, number>();
  for (const [from, to] of given) {
    const window = Math.floor(from / WINDOW_MS);
    if (window === Math.floor(to / WINDOW_MS)) certain.set(window, (certain.get(window) ?? 0) + 1);
  }
  const begun = Math.min(...given.map(([from]) => from));
  const ended = Math.max(...given.map(([, to]) => to));
  const touched = Math.floor(ended / WINDOW_MS) - Math.floor(begun / WINDOW_MS) + 1;
  const share = ((given.length / (touched * LIMIT)) * 100).toFixed(2);
  console.log(
    `${PROCESSES} processes asked ${asked} times in ${ended - begun} ms and took ${given.length} of ` +
      `${touched} windows x ${LIMIT} = ${touched * LIMIT} (${share} %); certain of one window: ${[...certain.values()].join(', ')}`,
  );
  assert.ok(asked > 2 * given.length, `${asked} asked for ${given.length}: no caller was refused`);
  for (const count of certain.values()) assert.ok(count <= LIMIT, `${count} in one window`);
  assert.ok(given.length <= touched * LIMIT);
  assert.ok(fits(given), 'the answers do not fit into their windows');
  // No unit is lost either: all windows that were open from end to end were used up.
  assert.ok(given.length >= WINDOWS * LIMIT, `${given.length} of ${WINDOWS * LIMIT} were given`);

  const admin = new Redis(server.url);
  t.after(() => admin.disconnect());
  const [key = ''] = await admin.keys('*:all');
  const counted = Number((await admin.get(key))?.split(' ')[1]);
  assert.equal(counted, given.length, 'the server counted what was given, and nothing that was refused');
});
