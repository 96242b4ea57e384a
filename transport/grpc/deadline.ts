import type { Deadline } from '@grpc/grpc-js';

/** Node's timers go no further. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Calls when a call's deadline passes; returns how to stop that. The library answers the client by itself, but tells a
 * handler only when its last bytes were read, which a client that reads nothing never does.
 */
export function atDeadline(deadline: Deadline, call: () => void): () => void {
  const leftMs = Number(deadline) - Date.now();
  if (!Number.isFinite(leftMs)) return () => {};
  const timer = setTimeout(call, Math.min(Math.max(0, leftMs), MAX_TIMER_MS));
  return () => clearTimeout(timer);
}
