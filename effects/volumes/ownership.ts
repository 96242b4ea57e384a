import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { lchown, open, stat } from 'node:fs/promises';
import { promisify } from 'node:util';

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
