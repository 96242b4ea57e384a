import { z } from 'zod';

/** Commands that a heartbeat returns, each once (G26). */
export type NodeCommand =
  | { readonly command: 'drain' }
  | { readonly command: 'shutdown'; readonly reason: string }
  | { readonly command: 'sync_config'; readonly config_version: string };

/** A command that waits for the node's next heartbeat. */
export const QueuedCommand = z.discriminatedUnion('command', [
  z.object({ command: z.literal('drain') }),
  z.object({ command: z.literal('shutdown'), reason: z.string().max(1_000) }),
  z.object({ command: z.literal('sync_config'), config_version: z.string().max(64) }),
]);

/** At most one of each kind is queued, so the queue is never longer than this. */
export const MOST_COMMANDS = 3;

/**
 * The queue with `command`. A queued command of the same kind keeps its position and gets the newer content: a node drains and
 * stops once, and only needs the newest configuration.
 */
export function queued(queue: readonly NodeCommand[], command: NodeCommand): NodeCommand[] {
  const waiting = queue.findIndex((one) => one.command === command.command);
  return waiting === -1 ? [...queue, command] : queue.with(waiting, command);
}
