import { connect, type Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { HANDSHAKE_LIMIT_BYTES, type HostPort, type NodeIncarnation, parseHandshake } from './liveness-server.ts';

export interface WatchedPeerParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Called once at most. */
  readonly onDead: (life: NodeIncarnation) => void;
}

/** How an attempt to connect ended, when not with the handshake that was expected. */
type Failure = 'refused' | 'silent' | 'other life';

/** A frozen process is silent as well; nothing follows from it. */
const HANDSHAKE_WITHIN_MS = 1_000;
/** A listener that restarts refuses for an instant. */
const REFUSED_AGAIN_MS = 20;
const REFUSALS = 2;
const RETRY_MS = { first: 100, most: 5_000 } as const;
/** A connection that ends sooner is retried with a pause, so that a peer that flaps costs little. */
const STEADY_MS = 1_000;
const KEEP_ALIVE_MS = 15_000;

/**
 * One connection to one life of another node. That it ends proves nothing. Dead is who was there once and whose port
 * then refuses twice or answers as somebody else; all else is left to the lease.
 */
export class WatchedPeer {
  readonly #life: NodeIncarnation;
  readonly #address: HostPort;
  readonly #parts: WatchedPeerParts;
  #socket: Socket | null = null;
  #connected = false;
  #cancel: () => void = () => {};
  /** Whether the expected life ever answered here. */
  #met = false;
  #refusals = 0;
  #failures = 0;
  #ended = false;

  constructor(life: NodeIncarnation, address: HostPort, parts: WatchedPeerParts) {
    this.#life = life;
    this.#address = address;
    this.#parts = parts;
    this.#connect();
  }

  /** Whether the expected life is at the other end now. */
  get connected(): boolean {
    return this.#connected;
  }

  close(): void {
    this.#ended = true;
    this.#connected = false;
    this.#cancel();
    this.#socket?.destroy();
    this.#socket = null;
  }

  #connect(): void {
    if (this.#ended) return;
    const { clock } = this.#parts;
    const socket = connect({ ...this.#address, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS });
    socket.unref();
    this.#socket = socket;
    let failure: Failure = 'silent';
    let heard = '';
    let greetedAt: number | null = null;
    this.#cancel = clock.after(HANDSHAKE_WITHIN_MS, () => socket.destroy());
    socket.on('error', (error) => {
      if (isRefusal(error)) failure = 'refused';
      socket.destroy();
    });
    socket.on('data', (bytes) => {
      if (greetedAt !== null) {
        if (socket.bytesRead > 2 * HANDSHAKE_LIMIT_BYTES) socket.destroy();
        return;
      }
      heard += bytes.toString('latin1', 0, HANDSHAKE_LIMIT_BYTES);
      const end = heard.indexOf('\n');
      if (end === -1 && heard.length < HANDSHAKE_LIMIT_BYTES) return;
      const who = parseHandshake(heard.slice(0, Math.max(0, end)));
      if (who !== null && this.#isExpected(who)) {
        this.#cancel();
        greetedAt = clock.monotonic();
        if (!this.#met) this.#failures = 0;
        this.#met = true;
        this.#connected = true;
        return;
      }
      if (who !== null) failure = 'other life';
      socket.destroy();
    });
    socket.on('close', () => {
      this.#cancel();
      if (this.#ended || this.#socket !== socket) return;
      this.#socket = null;
      this.#connected = false;
      if (greetedAt === null) this.#failed(failure);
      else this.#cut(clock.monotonic() - greetedAt);
    });
  }

  #isExpected({ node, incarnation }: NodeIncarnation): boolean {
    return node === this.#life.node && incarnation === this.#life.incarnation;
  }

  /** The next attempt is the probe: when the same life answers, its connection is kept. */
  #cut(heldMs: number): void {
    this.#refusals = 0;
    if (heldMs < STEADY_MS) {
      this.#retry();
      return;
    }
    this.#failures = 0;
    this.#connect();
  }

  #failed(failure: Failure): void {
    this.#refusals = failure === 'refused' ? this.#refusals + 1 : 0;
    if (this.#met && (failure === 'other life' || this.#refusals >= REFUSALS)) {
      this.close();
      this.#parts.onDead(this.#life);
    } else if (this.#met && failure === 'refused') {
      this.#cancel = this.#parts.clock.after(REFUSED_AGAIN_MS, () => this.#connect());
    } else {
      this.#retry();
    }
  }

  #retry(): void {
    const most = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    const delayMs = most * (0.5 + this.#parts.random.fraction() / 2);
    this.#cancel = this.#parts.clock.after(delayMs, () => this.#connect());
  }
}

/** Whether the host said that nobody listens; of several addresses of one name, each of them. */
function isRefusal(error: Error): boolean {
  if (error instanceof AggregateError)
    return error.errors.length > 0 && error.errors.every((one) => one instanceof Error && isRefusal(one));
  return 'code' in error && error.code === 'ECONNREFUSED';
}
