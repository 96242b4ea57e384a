import { readdir } from 'node:fs/promises';
import type { Clock } from '../../runtime/clock.ts';
import { removeWorkspace } from './workspace.ts';

export interface WorkspaceSweepOptions {
  readonly workspaces: string;
  /** Whether nothing of the execution runs or will run any more. */
  readonly ended: (tenant: string, executionId: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly everyMs?: number;
  readonly warn: (message: string, error: unknown) => void;
}

const EVERY_MS = 60_000;

/**
 * Removes the workspaces of ended executions from time to time, those left by a crash too. Answers how to stop.
 */
export function startWorkspaceSweep(options: WorkspaceSweepOptions): () => void {
  let cancel = (): void => {};
  let stopped = false;
  const arm = (): void => {
    if (stopped) return;
    cancel = options.clock.after(options.everyMs ?? EVERY_MS, () => {
      sweepWorkspaces(options)
        .catch((error: unknown) => options.warn('sweeping workspaces failed', error))
        .finally(arm);
    });
  };
  arm();
  return () => {
    stopped = true;
    cancel();
  };
}

/** One pass; answers how many workspaces were removed. */
export async function sweepWorkspaces({ workspaces, ended }: WorkspaceSweepOptions): Promise<number> {
  let removed = 0;
  for (const tenant of await directoriesOf(workspaces)) {
    for (const executionId of await directoriesOf(`${workspaces}/${tenant}`)) {
      if (!(await ended(tenant, executionId))) continue;
      await removeWorkspace(workspaces, tenant, executionId);
      removed += 1;
    }
  }
  return removed;
}

/** Names of sub-directories; a directory nobody made yet has none. Dotted ones are the effect's own. */
async function directoriesOf(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map((entry) => entry.name);
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return [];
    throw thrown;
  }
}
