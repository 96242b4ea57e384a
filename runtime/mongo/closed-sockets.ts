import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';

/** Set in all that the driver does on behalf of a call, its connecting and its looking at servers among it. */
const driving = new AsyncLocalStorage<true>();

/**
 * The driver writes and waits for `drain` or an error. A socket that was closed, but has not said so yet, gives neither,
 * so the driver would wait for ever: its sockets say `drain` once more when they close, it looks, and sees the closing.
 * Node tells of plain TCP sockets only; for TLS there are the limits of session.ts.
 */
subscribe('net.client.socket', (message) => {
  if (driving.getStore() !== true) return;
  if (typeof message !== 'object' || message === null || !('socket' in message)) return;
  const { socket } = message;
  if (socket instanceof Socket) socket.once('close', () => socket.emit('drain'));
});

/** Runs a call of the driver so that none of its waits outlives its socket. */
export function drive<T>(call: () => Promise<T>): Promise<T> {
  return driving.run(true, call);
}
