import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ReadingTurns } from '../reading-turns.ts';

/** Requests of one turn of the event loop after which no further connection is read in it. */
const MOST_IN_TURN = 100;

/**
 * Cuts a connection whose client sends more requests than may wait for their answers. Node.js passes on all requests of a packet at
 * once, so that thousands of short ones would hold up every other client.
 */
export function cutPipelines(server: Server, most: number): void {
  const waiting = new WeakMap<Socket, number>();
  const add = (socket: Socket, by: 1 | -1): number => {
    const now = (waiting.get(socket) ?? 0) + by;
    waiting.set(socket, now);
    return now;
  };
  // One function for all answers, which Node.js calls with the answer as `this`.
  function answered(this: ServerResponse): void {
    add(this.req.socket, -1);
  }
  server.prependListener('request', ({ socket }, response) => {
    response.on('close', answered);
    if (add(socket, 1) > most) socket.destroy();
  });
}

/** Makes the connections of a server take turns once many requests have arrived in one turn of the event loop. */
export function readInTurns(server: Server): void {
  const reading = new ReadingTurns();
  let requests = 0;
  let isScheduled = false;
  const nextTurn = (): void => {
    isScheduled = false;
    requests = 0;
    if (reading.resume()) schedule();
  };
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(nextTurn);
  };
  server.prependListener('connection', (socket) => reading.add(socket));
  server.prependListener('request', () => {
    requests += 1;
    if (requests >= MOST_IN_TURN) reading.stop();
    schedule();
  });
}
