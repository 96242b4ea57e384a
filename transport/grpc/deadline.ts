import type { Deadline } from '@grpc/grpc-js';
import { longTimer } from '../../runtime/clock.ts';

/**
 * Calls when a call's deadline passes; returns how to stop that. The library answers the client by itself, but tells a
 * handler only when its last bytes were read, which a client that reads nothing never does.
 */
export function atDeadline(deadline: Deadline, call: () => void): () => void {
  const leftMs = Number(deadline) - Date.now();
  if (!Number.isFinite(leftMs)) return () => {};
  return longTimer(Math.max(0, leftMs), call);
}
