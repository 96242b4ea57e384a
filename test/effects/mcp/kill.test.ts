import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { endLeftovers } from '../../../effects/programs/leftovers.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { isAlive } from './mcp-servers.ts';

test('kill -9 of the node leaves no server, and the restarted node ends the processes that left the group', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-mcp-kill-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const workspaces = join(directory, 'workspaces');
  const file = fileURLToPath(new URL('holder.ts', import.meta.url));
  const holder = spawn(process.execPath, [file, directory, workspaces], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => holder.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: holder.stdout }), 'line');
  const pids = z
    .array(z.number().int().min(2))
    .length(4)
    .parse(JSON.parse(String(line)));
  assert.ok(pids.every(isAlive));
  holder.kill('SIGKILL');
  const [wild = 0, stubborn = 0, near = 0, far = 0] = pids;
  await waitUntil('the groups of both servers are gone', () => ![wild, stubborn, near].some(isAlive));
  assert.ok(isAlive(far));
  assert.equal(await endLeftovers(workspaces), 2);
  await waitUntil('what left the group is gone', () => !isAlive(far));
});
