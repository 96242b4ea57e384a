import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { eventually } from '../../contract/store-under-test.ts';

const NODE = join(import.meta.dirname, 'actor-store-node.ts');

interface Started {
  readonly process: ChildProcess;
  readonly lines: string[];
  said(word: string): Promise<void>;
  kill(): Promise<void>;
}

function start(command: string, args: readonly string[]): Started {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return {
    process: child,
    lines,
    said: (word) => eventually(`the process says ${word}`, () => lines.some((line) => line.startsWith(word)), 20_000),
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const startNode = (...args: string[]) => start(process.execPath, [NODE, ...args]);

async function inDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-actor-store-'));
  try {
    await test(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Ids of the stored messages, each with its whole body. */
async function storedIn(directory: string): Promise<string[]> {
  const store = new SqliteActorStore({ directory });
  await store.open();
  const outcome = await store.acquire('default:0', 'reader', 'grant', 1_000);
  assert.ok(outcome.kind === 'granted');
  const entries = (await store.poll([{ lease: outcome.lease, after: 0 }], 1_000_000))[0] ?? [];
  await store.close();
  assert.deepEqual(
    entries.map((entry) => entry.seq),
    entries.map((_, n) => n + 1),
  );
  return entries.map((entry) => `id-${entry.body.slice(0, entry.body.indexOf(' '))}`);
}

it('a data directory serves one live process; a second one is refused with the name of the directory', () =>
  inDirectory(async (directory) => {
    const first = startNode(directory);
    try {
      await first.said('open');
      const second = startNode(directory);
      await second.said('failed');
      assert.match(second.lines.join('\n'), /failed unavailable .*in use by another process/);
      assert.ok(second.lines.join('\n').includes(directory));
      await assert.rejects(new SqliteActorStore({ directory }).open(), { name: 'SvcError', code: 'unavailable' });
    } finally {
      await first.kill();
    }
    await storedIn(directory);
  }));

it('kill -9 at any moment loses nothing that was acknowledged and leaves no gap', () =>
  inDirectory(async (directory) => {
    const acknowledged = new Set<string>();
    for (const moment of [1, 40, 200]) {
      const node = startNode(directory, '1000000', '2000');
      await eventually('messages are stored', () => node.lines.filter((line) => /^stored/.test(line)).length >= moment);
      await node.kill();
      for (const line of node.lines) if (line.startsWith('stored ')) acknowledged.add(line.slice('stored '.length));
      const stored = await storedIn(directory);
      assert.equal(new Set(stored).size, stored.length, 'nothing is stored twice');
      for (const id of acknowledged) assert.ok(stored.includes(id), `${id} was acknowledged`);
    }
  }));

it('on a full disk callers get unavailable, the process stays up, nothing is half-written', () =>
  inDirectory(async (directory) => {
    // A limit on the file size (2 MB) refuses writes as a full disk does.
    const limited = start('/bin/sh', [
      '-c',
      'ulimit -f 4096; exec "$0" "$@"',
      process.execPath,
      NODE,
      directory,
      '96',
      '100000',
    ]);
    try {
      await limited.said('done');
    } finally {
      await limited.kill();
    }
    const stored = limited.lines.filter((line) => line.startsWith('stored ')).map((line) => line.split(' ')[1]);
    const refused = limited.lines.filter((line) => line.startsWith('refused '));
    assert.ok(stored.length > 0 && refused.length > 0, `${stored.length} stored, ${refused.length} refused`);
    for (const line of refused) assert.match(line, / unavailable$/);
    const found = await storedIn(directory);
    for (const id of stored) assert.ok(id !== undefined && found.includes(id), `${id} was acknowledged`);
  }));
