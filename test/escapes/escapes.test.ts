import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { someOf } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { left } from './commands.ts';
import { type Escape, KINDS, make } from './escape.ts';
import { type EscapeTargets, escapeTargets } from './escape-targets.ts';
import { below, diskMiB, inDirectory, listening, memoryMiB, openFiles, picture } from './host.ts';
import { ON_ONE_NODE } from './list.ts';

const kindsOf = (rows: readonly Escape[]): readonly Escape['kind'][] => [...new Set(rows.map(({ kind }) => kind))];
const MOST_MEMORY_MIB = 1_536;
const MOST_DISK_MIB = 300;

describe('a started node cannot be escaped by', () => {
  let at: EscapeTargets;
  let was: Awaited<ReturnType<typeof hostOf>>;
  before(async () => {
    at = await escapeTargets({ containers: false });
    was = await hostOf(at);
  });
  after(() => at[Symbol.asyncDispose]());

  for (const kind of kindsOf(ON_ONE_NODE)) {
    describe(KINDS[kind], () => {
      const rows = ON_ONE_NODE.filter((one) => one.kind === kind);
      for (const row of someOf(rows, Math.min(rows.length, 8))) {
        test(row.title.slice(0, 140), async (context) => {
          await make(row, at, context);
          assert.deepEqual(await picture(at.outside), was.outside, 'what is outside is as it was');
        });
      }
    });
  }

  test('afterwards the host is unharmed: files, processes, listeners, memory, disk, and a node that works', async () => {
    await unharmed(at, was);
  });
});

async function hostOf({ outside, node }: EscapeTargets) {
  const { pid } = node.process;
  return { outside: await picture(outside), ports: listening(pid), files: openFiles(pid), memory: memoryMiB(pid) };
}

async function unharmed(at: EscapeTargets, was: Awaited<ReturnType<typeof hostOf>>): Promise<void> {
  const { node, setup, outside } = at;
  const { pid } = node.process;
  assert.equal(node.process.crashed, false);
  assert.deepEqual(await picture(outside), was.outside);
  assert.deepEqual(left(), []);
  const servers = (line: string): boolean => line.includes('servers/wild.ts') || /svc-program/.test(line);
  await waitUntil('nothing but MCP servers runs below the node', () => below(pid).every(servers) || null);
  const volumes = join(setup.data, 'volumes');
  assert.deepEqual(inDirectory(volumes, [pid]), [], 'no process works in a volume');
  assert.deepEqual(listening(pid), was.ports, 'no listener more than before');
  assert.deepEqual(at.hidden.asked, [], 'no request reached what is hidden');
  const memory = memoryMiB(pid);
  assert.ok(memory.most < MOST_MEMORY_MIB, `${memory.most} MiB at most, ${memory.now} now, ${was.memory.now} before`);
  await waitUntil('descriptors are closed again', () => openFiles(pid) < was.files + 40);
  const { said, isError } = await at.call('cmd.run', { command: 'sh', args: ['-c', 'rm -rf ./* && echo still here'] });
  assert.equal(isError, false, said);
  assert.match(said, /still here/);
  const disk = await diskMiB(setup.data);
  assert.ok(disk < MOST_DISK_MIB, `${Math.round(disk)} MiB of disk`);
  assert.equal((await node.call('GET', '/health')).status, 200);
  assert.equal((await at.call('fs.write', { path: 'after.txt', content: 'after' })).isError, false);
}
