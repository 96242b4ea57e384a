import type { Http2Server, Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import { SvcError } from '../../runtime/errors.ts';
import type { ReadingTurns } from '../reading-turns.ts';

/** Time in one turn of the event loop for the first steps of new calls, ms; further calls begin in the next turn. */
const TURN_MS = 5;
/**
 * Most calls that begin in one turn of the event loop. It is lowered while turns are slow, because the work of calls
 * after their first step is not part of the measured time.
 */
const IN_TURN = { least: 5, most: 50 };
const SLOW_TURN_MS = 20;
/** Calls that may wait. With more of them no connection is read: each call costs memory before it begins. */
const MOST_WAITING = 500;

type Begin = () => void;

/**
 * Begins the calls of a server's connections in portions. One packet has room for thousands of calls, each of which costs 0.1
 * ms even if it is refused, and Node.js reads the packets of all connections in one turn of the event loop: all other requests
 * and timers of the node would wait for them. Here one turn begins some calls, and the connections take turns.
 */
export class CallRounds {
  readonly #waiting = new Map<Http2Session, Begin[]>();
  readonly #reading: ReadingTurns;
  #waitingCalls = 0;
  #isReading = true;
  #inTurn = IN_TURN.most;
  #turnSince = 0;
  #begun = 0;
  #spentMs = 0;
  #isScheduled = false;

  /** `reading`: the server's connections. */
  constructor(reading: ReadingTurns) {
    this.#reading = reading;
  }

  /** Begins a call now if this turn has room for it and no other call waits, else in a later turn. */
  add(session: Http2Session, begin: Begin): void {
    if (this.#waiting.size === 0 && this.#hasRoom) {
      this.#begin(begin);
    } else {
      const queue = this.#waiting.get(session);
      if (queue === undefined) this.#waiting.set(session, [begin]);
      else queue.push(begin);
      this.#waitingCalls += 1;
      if (this.#waitingCalls >= MOST_WAITING) {
        this.#reading.stop();
        this.#isReading = false;
      }
    }
    this.#scheduleTurn();
  }

  get #hasRoom(): boolean {
    return this.#begun < this.#inTurn && this.#spentMs < TURN_MS;
  }

  #begin(begin: Begin): void {
    const since = performance.now();
    begin();
    this.#begun += 1;
    this.#spentMs += performance.now() - since;
  }

  #scheduleTurn(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#turnSince = performance.now();
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#isScheduled = false;
    const isSlow = performance.now() - this.#turnSince > SLOW_TURN_MS;
    this.#inTurn = isSlow ? Math.max(IN_TURN.least, this.#inTurn / 2) : Math.min(IN_TURN.most, this.#inTurn + 1);
    this.#begun = 0;
    this.#spentMs = 0;
    for (let begin = this.#next(); begin !== undefined; begin = this.#hasRoom ? this.#next() : undefined) {
      this.#begin(begin);
    }
    if (this.#waitingCalls < MOST_WAITING / 2) this.#isReading ||= !this.#reading.resume();
    if (this.#waitingCalls > 0 || !this.#isReading) this.#scheduleTurn();
  }

  /** Removes the next call of the connection that has waited longest and moves that connection to the end. */
  #next(): Begin | undefined {
    const [next] = this.#waiting;
    if (next === undefined) return undefined;
    const [session, queue] = next;
    this.#waiting.delete(session);
    const begin = queue.shift();
    if (queue.length > 0) this.#waiting.set(session, queue);
    this.#waitingCalls -= 1;
    return begin;
  }
}

/**
 * Makes the calls of a server begin in rounds. Replaces the HTTP/2 server's handler for new streams; throws `internal` when a
 * version of the library has it in another place, which tests detect first.
 */
export function beginInRounds(server: Server, rounds: CallRounds): void {
  const http2 = http2ServerOf(server);
  const serve = http2.listeners('stream');
  http2.removeAllListeners('stream');
  http2.on('stream', (stream, headers, ...rest) => {
    const { session } = stream;
    if (session === undefined) return;
    dropFarDeadline(headers);
    // Without a listener, a stream that its client resets while it waits would end the process.
    stream.on('error', ignore);
    rounds.add(session, () => {
      if (isOver(stream)) return;
      const { readableEnded } = stream;
      for (const handle of serve) Reflect.apply(handle, http2, [stream, headers, ...rest]);
      // A request without any message has ended while it waited, before the library could listen.
      if (readableEnded) stream.emit('end');
    });
  });
}

function ignore(): void {
  // The library has a listener of its own once the call begins.
}

const isOver = (stream: ServerHttp2Stream): boolean => stream.destroyed || stream.closed;

function http2ServerOf(server: Server): Http2Server {
  const servers: unknown = Reflect.get(server, 'http2Servers');
  const [http2] = servers instanceof Map ? servers.keys() : [];
  if (isHttp2Server(http2) && http2.listenerCount('stream') > 0) return http2;
  throw new SvcError(
    'internal',
    'this version of the gRPC library is not supported: it holds its HTTP/2 server in another place',
  );
}

const isHttp2Server = (value: unknown): value is Http2Server =>
  typeof value === 'object' && value !== null && 'listeners' in value && 'updateSettings' in value;

/** The longest time that a timer of Node.js waits, ms: 24.8 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Units of `grpc-timeout` in which eight digits exceed that time, ms. */
const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000 };

/**
 * Removes the deadline of a call that is further away than a timer waits. The library keeps its lowest 32 bits: half of
 * these calls would end at once with DEADLINE_EXCEEDED, the others too early. The client still ends its call in time.
 */
function dropFarDeadline(headers: IncomingHttpHeaders): void {
  const [, digits, unit = ''] = /(\d{1,8})\s*([HMS])/.exec(String(headers['grpc-timeout'])) ?? [];
  if (Number(digits) * (UNIT_MS[unit] ?? 0) > LONGEST_MS) delete headers['grpc-timeout'];
}
