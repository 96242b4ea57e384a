import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { lchown, open, stat } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * On a node that runs as root: the owner of a directory, who also gets new entries, since containers of agents do not run as
 * root and must be able to use files that tools have written. Null: new entries stay with the node's user.
 */
async function inheritedOwner(directory: string): Promise<Owner | null> {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = await stat(directory);
  return uid === 0 ? null : { uid, gid };
}

/** Gives a new directory to the owner of its parent `directory`. */
export async function giveDirectory(path: string, directory: string): Promise<void> {
  const owner = await inheritedOwner(directory);
  if (owner !== null) await lchown(path, owner.uid, owner.gid);
}

/** Gives a file to the owner of its future `directory` and sets its mode unless that is null. Never follows a link. */
export async function giveFile(path: string, directory: string, mode: number | null): Promise<void> {
  const owner = await inheritedOwner(directory);
  if (owner === null && mode === null) return;
  await using file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (owner !== null) await file.chown(owner.uid, owner.gid);
  if (mode !== null) await file.chmod(mode);
}

/**
 * On a node that runs as root: gives a directory with all its content to its next user. Programs, agents' containers and steps
 * of workflows run as different users, and each must be able to work on the files of the one before. Files of users other than
 * root and the owner of the directory are not changed. Never follows a link: `chown -R -P` works by descriptors.
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

/** Parses `uid` or `uid:gid` of a setting; the default group is the number of the user. */
export function ownerOf(user: string): Owner {
  const [uid = 0, gid = uid] = user.split(':').map(Number);
  return { uid, gid };
}
