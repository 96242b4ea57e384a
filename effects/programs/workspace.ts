import { lstat, mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { systemCode } from '../../runtime/kit/system-code.ts';
import { repeat } from '../../runtime/kit/waits.ts';
import { openDirectory, removeTree } from '../volumes/tree.ts';
import { Segment } from './input.ts';

/** Directory of an execution, below that of its tenant. Throws `invalid_argument` for ids that could lead out of it. */
function workspacePath(workspaces: string, tenant: string, executionId: string): string {
  for (const [field, value] of [
    ['tenant', tenant],
    ['execution_id', executionId],
  ] as const) {
    const checked = Segment.safeParse(value);
    if (!checked.success)
      throw new SvcError('invalid_argument', `${field} must be ${checked.error.issues[0]?.message}`, { field });
  }
  return resolve(workspaces, tenant, executionId);
}

/** Creates the workspace, readable only for this user; reuses an existing one. */
export async function createWorkspace(workspaces: string, tenant: string, executionId: string): Promise<string> {
  const directory = workspacePath(workspaces, tenant, executionId);
  await mkdir(join(directory, TEMPORARY), { recursive: true, mode: 0o700 });
  if (!(await lstat(directory)).isDirectory()) {
    throw new SvcError('failed_precondition', 'the workspace of the execution is not a directory');
  }
  return directory;
}

/** Creates the directory for temporary files of a workspace that is a volume. */
export async function makeTemporary(workspace: string): Promise<void> {
  await using _made = await openDirectory(workspace, [TEMPORARY], true);
}

/** Turns errors of the disk before the start of a program into `unavailable`, since nothing has happened yet. */
export async function beforeStart<T>(making: Promise<T>): Promise<T> {
  try {
    return await making;
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    const code = systemCode(cause);
    throw new SvcError('unavailable', `this node cannot store the files of a program (${code})`, { cause });
  }
}

/** Removes the workspace of an execution, if it exists. */
export async function removeWorkspace(workspaces: string, tenant: string, executionId: string): Promise<void> {
  const directory = workspacePath(workspaces, tenant, executionId);
  await removeTree(directory);
}

/** Directory for temporary files in a workspace. */
export const TEMPORARY = '.tmp';

interface WorkspaceSweepOptions {
  readonly workspaces: string;
  /** Whether the execution has ended. */
  readonly ended: (tenant: string, executionId: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
}

const EVERY_MS = 60_000;

/** Periodically removes the workspaces of ended executions, also after crashes. Returns the function that stops it. */
export function startWorkspaceSweep(options: WorkspaceSweepOptions): () => void {
  const failed = (error: unknown): void => options.warn('sweeping workspaces failed', error);
  const end = repeat(options.clock, EVERY_MS, () => sweepWorkspaces(options).catch(failed));
  return () => void end();
}

/** One pass; returns the number of removed workspaces. */
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

/** Names of sub-directories, without those of the effect itself, which start with a dot. */
async function directoriesOf(directory: string): Promise<string[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map((entry) => entry.name);
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}
