import { createHash } from 'node:crypto';
import { chmod, chown, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import type { ContainerExtras } from '../containers/settings.ts';
import { prepareMailbox } from './mailbox.ts';

/** Longer than any container may run. */
const FORGOTTEN_AFTER_MS = 25 * 3_600_000;

/** Where the node's files are in an agent's container, read-only. */
const NODE_PATH = '/svc';
const MAILBOX_PATH = '/run/svc';
const FILES = 'bin';
export const BOOTSTRAP = `${NODE_PATH}/bootstrap.sh`;
export const PROMPT_FILE = `${NODE_PATH}/prompt`;

/** The directory of one effect below `root`: its mailbox, and the node's files for its container. */
export const boxOf = (root: string, effectId: string): string =>
  join(root, createHash('sha256').update(effectId).digest('hex').slice(0, 32));

export interface BoxContent {
  /** Instead of the node's own bootstrap. */
  readonly script: Buffer | null;
  /** Where the prompt is no argument. */
  readonly prompt: string | null;
}

/** Makes a box and answers where its parts go. Repeating it is harmless. */
export async function makeBox(box: string, { script, prompt }: BoxContent): Promise<ContainerExtras['binds']> {
  const mounts = await prepareMailbox(box, MAILBOX_PATH);
  if (script !== null) await place(box, 'bootstrap.sh', script, 0o555);
  if (prompt !== null) await place(box, 'prompt', Buffer.from(prompt), 0o444);
  return mounts.map(({ source, target, readOnly }) => ({
    directory: source,
    path: target === `${MAILBOX_PATH}/${FILES}` ? NODE_PATH : target,
    readOnly,
  }));
}

async function place(box: string, name: string, content: Buffer, mode: number): Promise<void> {
  const incoming = join(box, `${name}.tmp`);
  await writeFile(incoming, content, { mode });
  // The container's user is another one; a umask of the node must not be in the way.
  await chmod(incoming, mode);
  await rename(incoming, join(box, FILES, name));
}

export const removeBox = (box: string): Promise<void> => rm(box, { recursive: true, force: true });

/** Removes boxes of effects that no node followed to their end. For the start of a node. */
export async function sweepBoxes(root: string, clock: Clock): Promise<number> {
  let removed = 0;
  for (const name of await readdir(root).catch(() => [])) {
    const path = join(root, name);
    const made = await stat(path).catch(() => null);
    if (made === null || clock.now() - made.mtimeMs < FORGOTTEN_AFTER_MS) continue;
    await removeBox(path);
    removed += 1;
  }
  return removed;
}

/**
 * What a node that runs as root has made belongs to root, and agents' containers do not run as root: the top of a volume is
 * given to `uid:gid` when nobody else owns it.
 */
export async function giveAway(directory: string, user: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const [uid = 0, gid = uid] = user.split(':').map(Number);
  const { uid: owner } = await stat(directory);
  if (owner === 0 && uid !== 0) await chown(directory, uid, gid);
}
