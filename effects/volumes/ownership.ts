import { constants } from 'node:fs';
import { lchown, open, stat } from 'node:fs/promises';

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
