import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createWorkspace, sweepWorkspaces } from '../../../effects/programs/workspace.ts';
import { systemClock } from '../../../runtime/clock.ts';

test('workspaces of ended executions are removed, those of running ones and the effect’s own records stay', async () => {
  const workspaces = await mkdtemp(join(tmpdir(), 'svc-sweep-'));
  try {
    const running = await createWorkspace(workspaces, 'acme', 'run-1');
    await writeFile(join(running, 'file'), 'kept');
    await writeFile(join(await createWorkspace(workspaces, 'acme', 'run-2'), 'file'), 'gone');
    await createWorkspace(workspaces, '.runs', 'x').catch(() => undefined);
    const options = {
      workspaces,
      ended: async (_tenant: string, id: string) => id !== 'run-1',
      clock: systemClock,
      warn: () => {},
    };
    assert.equal(await sweepWorkspaces(options), 1);
    assert.deepEqual(await readdir(join(workspaces, 'acme')), ['run-1']);
    assert.deepEqual(await sweepWorkspaces({ ...options, workspaces: join(workspaces, 'nothing') }), 0);
  } finally {
    await rm(workspaces, { recursive: true, force: true });
  }
});
