import { lstat, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SvcError } from '../../runtime/errors.ts';
import { openDirectory, removeTree } from '../volumes/tree.ts';
import { Segment } from './input.ts';

/** Directory of an execution, below its tenant's. Throws `invalid_argument` for ids that could leave it. */
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

/** Makes the workspace, readable for this user only; one that is there is used again. */
export async function createWorkspace(workspaces: string, tenant: string, executionId: string): Promise<string> {
  const directory = workspacePath(workspaces, tenant, executionId);
  await mkdir(join(directory, TEMPORARY), { recursive: true, mode: 0o700 });
  if (!(await lstat(directory)).isDirectory()) {
    throw new SvcError('failed_precondition', 'the workspace of the execution is not a directory');
  }
  return directory;
}

/** The directory for temporary files of a workspace that is a volume. */
export async function makeTemporary(workspace: string): Promise<void> {
  await using _made = await openDirectory(workspace, [TEMPORARY], true);
}

/** A disk that takes no files is `unavailable`, as long as no program was started: nothing has happened yet. */
export async function beforeStart<T>(making: Promise<T>): Promise<T> {
  try {
    return await making;
  } catch (cause) {
    if (cause instanceof SvcError) throw cause;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw new SvcError('unavailable', `this node cannot keep the files of a program (${code})`, { cause });
  }
}

/** Removes all files of an execution; one that has none is fine. */
export async function removeWorkspace(workspaces: string, tenant: string, executionId: string): Promise<void> {
  const directory = workspacePath(workspaces, tenant, executionId);
  await removeTree(directory);
}

/** Temporary files of an execution, so that none lands where others look. */
export const TEMPORARY = '.tmp';
