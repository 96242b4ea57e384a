import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { lchown, open, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { SvcError } from '../../runtime/errors.ts';
import { PathTraversal } from '../../usecases/ports/volumes.ts';

const MAX_PATH_BYTES = 4_096;

const MAX_NAME_BYTES = 255;

/** Deepest place in a volume that files can be reached at. */
export const MAX_DEPTH = 128;

/** Where uploads grow before they take their place; hidden from lists. */
export const UPLOADS = '.svc-uploads';

/**
 * Names on the way to a file, from the volume's root; the root itself has none. A leading `/` is that root. Any `..`
 * is refused, wherever it leads (W33). Throws `PathTraversal`, `invalid_argument`.
 */
export function partsOf(path: string): string[] {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw invalid(`at most ${MAX_PATH_BYTES} bytes`);
  if (path.includes('\0')) throw invalid('no NUL');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new PathTraversal();
  if (parts[0] === UPLOADS) throw invalid(`a name other than ${UPLOADS}`);
  if (parts.length > MAX_DEPTH) throw invalid(`at most ${MAX_DEPTH} names deep`);
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
    throw invalid(`names of at most ${MAX_NAME_BYTES} bytes`);
  }
  return parts;
}

const invalid = (expected: string): SvcError =>
  new SvcError('invalid_argument', `path: expected ${expected}`, { field: 'path' });

const GIT_FILES = new Set(['config', 'config.worktree', 'hooks']);

/**
 * Throws `forbidden` for what tells git which programs to run: `.git/config`, hooks, and a `.git` that says where those are.
 * An agent that may run git, and write files, could otherwise run anything. Names as they are after all links.
 */
export function refuseGitConfiguration(parts: readonly string[]): void {
  const names = parts.map((name) => name.toLowerCase());
  const below = names.slice(names.indexOf('.git') + 1);
  const isGit = names.includes('.git') && (below.length === 0 || below.some((name) => GIT_FILES.has(name)));
  if (!isGit) return;
  const text = `${pathOf(parts).slice(0, MAX_SHOWN_CHARS)} tells git which programs to run: it is not written by tools`;
  throw new SvcError('forbidden', text, { field: 'path' });
}

const MAX_SHOWN_CHARS = 200;

/** The names as a path from the volume's root. */
export const pathOf = (parts: readonly string[]): string => `/${parts.join('/')}`;

const run = promisify(execFile);

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * What a node that runs as root makes for somebody else's directory is theirs: containers of agents do not run as root and
 * must be able to use what the agent's tools wrote. Null where it stays the node's own.
 */
async function heirOf(directory: string): Promise<{ readonly uid: number; readonly gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = await stat(directory);
  return uid === 0 ? null : { uid, gid };
}

/** Of a directory that was just made in `directory`. */
export async function giveDirectory(path: string, directory: string): Promise<void> {
  const heir = await heirOf(directory);
  if (heir !== null) await lchown(path, heir.uid, heir.gid);
}

/** Of a file that is about to go into `directory`; `mode` null leaves its permissions. Never follows a link. */
export async function giveFile(path: string, directory: string, mode: number | null): Promise<void> {
  const heir = await heirOf(directory);
  if (heir === null && mode === null) return;
  await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (heir !== null) await file.chown(heir.uid, heir.gid);
  if (mode !== null) await file.chmod(mode);
}

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Gives what is in a directory, itself too, to whoever works in it next, on a node that runs as root: programs, agents'
 * containers and steps of workflows have different users there, and each must be able to work on what the one before left.
 * What neither root nor the owner of the directory owns stays as it is. Never follows a link: `chown -R -P` goes from
 * directory to directory by descriptors.
 */
export async function handOver(directory: string, to: Owner): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid } = await stat(directory);
  for (const from of new Set([uid, 0])) {
    if (from === to.uid) continue;
    const args = ['-hRP', `--from=${from}`, `${to.uid}:${to.gid}`, '--', directory];
    await run('chown', args, { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } });
  }
}

/** `uid` or `uid:gid` of a setting; the group is the user's number where none is said. */
export function ownerOf(user: string): Owner {
  const [uid = 0, gid = uid] = user.split(':').map(Number);
  return { uid, gid };
}
