import { lstat, opendir } from 'node:fs/promises';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { pause } from '../../runtime/pause.ts';

/** What a container may leave in the directory that it writes its requests to: on the node's disk, under no quota. */
export interface MailboxRoom {
  /** As they take up space: a sparse file counts by what is in it. */
  readonly bytes: number;
  readonly entries: number;
  readonly lookMs: number;
}

export const MAILBOX_ROOM: MailboxRoom = { bytes: 128 * 1024 * 1024, entries: 20_000, lookMs: 3_000 };

/** Looks now and then until `signal` is aborted. Throws `quota_exceeded` when the directory holds more than it may. */
export async function watchRoom(
  path: string,
  room: MailboxRoom,
  { signal, clock = systemClock }: { readonly signal: AbortSignal; readonly clock?: Clock | undefined },
): Promise<void> {
  while (!signal.aborted) {
    await pause(clock, room.lookMs, signal);
    if (!signal.aborted && (await isOver(path, room))) {
      const text = `the agent left more than ${room.bytes} bytes or ${room.entries} files in its mailbox`;
      throw new SvcError('quota_exceeded', text);
    }
  }
}

async function isOver(path: string, room: MailboxRoom): Promise<boolean> {
  const waiting = [path];
  let bytes = 0;
  let entries = 0;
  for (let below = waiting.pop(); below !== undefined; below = waiting.pop()) {
    for await (const entry of entriesOf(below)) {
      entries += 1;
      if (entry.isDirectory()) waiting.push(`${below}/${entry.name}`);
      else bytes += await spaceOf(`${below}/${entry.name}`);
      if (entries > room.entries || bytes > room.bytes) return true;
    }
  }
  return false;
}

/** What the container takes away or shuts meanwhile does not count. */
async function* entriesOf(path: string) {
  try {
    for await (const entry of await opendir(path)) yield entry;
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown;
  }
}

const BLOCK_BYTES = 512;

async function spaceOf(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  return found === null ? 0 : found.blocks * BLOCK_BYTES;
}
