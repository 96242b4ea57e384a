import { z } from 'zod';

/** What a heartbeat brings back, each command once (G26). */
export type NodeCommand =
  | { readonly command: 'drain' }
  | { readonly command: 'shutdown'; readonly reason: string }
  | { readonly command: 'sync_config'; readonly config_version: string };

/** A command as it waits for the node's next heartbeat. */
export const QueuedCommand = z.discriminatedUnion('command', [
  z.object({ command: z.literal('drain') }),
  z.object({ command: z.literal('shutdown'), reason: z.string().max(1_000) }),
  z.object({ command: z.literal('sync_config'), config_version: z.string().max(64) }),
]);

/** Of each command at most one waits, so the queue is never longer than this. */
export const MOST_COMMANDS = 3;

/**
 * The queue with `command` in it. One of its kind that waits already keeps its place and takes the newer words: a node
 * drains and stops once, and only the newest configuration is worth fetching.
 */
export function queued(queue: readonly NodeCommand[], command: NodeCommand): NodeCommand[] {
  const waiting = queue.findIndex((one) => one.command === command.command);
  return waiting === -1 ? [...queue, command] : queue.with(waiting, command);
}
