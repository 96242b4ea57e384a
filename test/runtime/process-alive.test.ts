import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');

/** Its turn fails once, so that the caller waits for a retry with nothing else open in the process. */
const PROGRAM = `
import { z } from 'zod';
import { defineActor, message, startRuntime } from '${ROOT}/runtime/index.ts';

let attempts = 0;
const late = defineActor({
  kind: 'late',
  version: 1,
  state: z.object({}),
  initial: () => ({}),
  messages: { Ask: message(z.object({}), z.string()) },
  events: {},
  on: {
    Ask(state, _, turn) {
      attempts += 1;
      if (attempts === 1) throw new Error('not yet');
      turn.reply('answered');
      return state;
    },
  },
});
const settings = { retry: { maxAttempts: 3, initialDelayMs: 500, maxDelayMs: 500 } };
const { client, stop } = await startRuntime({ dataDir: process.argv[2], actors: [late], settings, warn: () => {} });
console.log(await client.actor(late, 'acme', 'one').Ask());
await stop();
`;

test('a runtime on files keeps its process alive until it stops, so a caller gets the answer of a retried turn', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-alive-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  // Beside the packages that it imports, in a directory of its own.
  const program = join(directory, 'program.mts');
  await writeFile(program, PROGRAM.replace("'zod'", `'${import.meta.resolve('zod')}'`));
  const { stdout } = await run(process.execPath, [program, join(directory, 'data')], { cwd: ROOT, timeout: 60_000 });
  assert.equal(stdout, 'answered\n');
});
