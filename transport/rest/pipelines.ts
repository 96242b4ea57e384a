import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ReadingTurns } from '../reading-turns.ts';

/** Requests of one turn of the event loop after which no further connection is read in it. */
const MOST_IN_TURN = 100;

interface Waiting {
  count: number;
  /** The answer to the last request that arrived. */
  last: ServerResponse;
}

/** Counts the requests of each connection that wait for their answers. */
export class WaitingAnswers {
  readonly #waiting = new WeakMap<Socket, Waiting>();

  /** Adds a request and returns how many of its connection wait. */
  add(response: ServerResponse): number {
    const { socket } = response.req;
    const known = this.#waiting.get(socket);
    if (known === undefined) {
      this.#waiting.set(socket, { count: 1, last: response });
      return 1;
    }
    known.count += 1;
    known.last = response;
    return known.count;
  }

  remove(socket: Socket): void {
    const known = this.#waiting.get(socket);
    if (known !== undefined) known.count -= 1;
  }

  /** The requests of a connection that wait; undefined when none does. */
  of(socket: Socket): Readonly<Waiting> | undefined {
    const known = this.#waiting.get(socket);
    return known === undefined || known.count === 0 ? undefined : known;
  }
}

/**
 * Cuts a connection whose client sends more requests than may wait for their answers. Node.js passes on all requests of a packet at
 * once, so that thousands of short ones would hold up every other client.
 */
export function cutPipelines(server: Server, waiting: WaitingAnswers, most: number): void {
  // One function for all answers, which Node.js calls with the answer as `this`.
  function answered(this: ServerResponse): void {
    waiting.remove(this.req.socket);
  }
  server.prependListener('request', ({ socket }, response) => {
    response.on('close', answered);
    if (waiting.add(response) > most) socket.destroy();
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
