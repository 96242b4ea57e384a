import { connect, type Socket } from 'node:net';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { type HostPort, parseHostPort } from '../advertised-host.ts';
import type { FleetMember } from '../placement/fleet.ts';
import { HANDSHAKE_LIMIT_BYTES, type NodeIncarnation, parseHandshake } from './liveness-server.ts';

interface FailureDetectorOptions {
  /** This node. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Called once for an incarnation that died. */
  readonly onDead: (node: string, incarnation: string) => void;
}

export interface FailureDetector {
  /** Sets the live members, which determine the watched nodes. */
  watch(members: readonly FleetMember[]): void;
  /** Ids of the nodes with an open connection. */
  connected(): string[];
  close(): void;
}

/** Number of nodes that watch each node. */
const WATCHED = 3;

interface Watched {
  readonly member: FleetMember;
  readonly address: HostPort;
}

/** Holds connections to the next members in the ring of node ids, and reports when one of them dies. */
export function startFailureDetector({ node, clock, random, onDead }: FailureDetectorOptions): FailureDetector {
  // Dead peers stay until the members no longer include them, so that each is reported once.
  const peers = new Map<string, { readonly node: string; readonly peer: WatchedPeer }>();
  let closed = false;
  return {
    watch(members) {
      if (closed) return;
      const wanted = new Map(nextOf(node, members).map((one) => [keyOf(one), one]));
      for (const [key, { peer }] of peers) {
        if (wanted.has(key)) continue;
        peer.close();
        peers.delete(key);
      }
      for (const [key, { member, address }] of wanted) {
        if (peers.has(key)) continue;
        const parts = { clock, random, onDead: () => onDead(member.node, member.incarnation) };
        peers.set(key, { node: member.node, peer: new WatchedPeer(member, address, parts) });
      }
    },
    connected: () => [...peers.values()].flatMap(({ node: id, peer }) => (peer.connected ? [id] : [])),
    close() {
      closed = true;
      for (const { peer } of peers.values()) peer.close();
      peers.clear();
    },
  };
}

/** The next members after this node in the ring that have a liveness server. */
function nextOf(node: string, members: readonly FleetMember[]): Watched[] {
  const watchable = members.flatMap((member): Watched[] => {
    const address = member.info === null ? null : parseHostPort(member.info.pulse ?? '');
    return address === null || member.node === node ? [] : [{ member, address }];
  });
  watchable.sort((a, b) => (a.member.node < b.member.node ? -1 : 1));
  const behind = watchable.filter(({ member }) => member.node > node);
  return [...behind, ...watchable.filter(({ member }) => member.node < node)].slice(0, WATCHED);
}

const keyOf = ({ member, address }: Watched): string =>
  `${member.node}/${member.incarnation}@${address.host}:${address.port}`;

interface WatchedPeerParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Called at most once. */
  readonly onDead: (life: NodeIncarnation) => void;
}

/** Why an attempt to connect did not end with the expected handshake. */
type Failure = 'refused' | 'silent' | 'other incarnation';

/** A frozen process is silent too, so a time-out proves nothing. */
const HANDSHAKE_WITHIN_MS = 1_000;
/** A restarting listener refuses for a moment. */
const REFUSED_AGAIN_MS = 20;
const REFUSALS = 2;
const RETRY_MS = { first: 100, most: 5_000 } as const;
/** Shorter connections are retried with a pause, so that a flapping peer costs little. */
const STEADY_MS = 1_000;
const KEEP_ALIVE_MS = 15_000;

/**
 * One connection to one incarnation of another node. Its end proves nothing. The incarnation is dead when it had answered before
 * and its port then refuses twice or answers as another incarnation; everything else is left to the lease.
 */
class WatchedPeer {
  readonly #life: NodeIncarnation;
  readonly #address: HostPort;
  readonly #parts: WatchedPeerParts;
  #socket: Socket | null = null;
  #connected = false;
  #cancel: () => void = () => {};
  /** Whether the expected incarnation has answered before. */
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

  /** Whether the expected incarnation is connected now. */
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
    let received = '';
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
      received += bytes.toString('latin1', 0, HANDSHAKE_LIMIT_BYTES);
      const end = received.indexOf('\n');
      if (end === -1 && received.length < HANDSHAKE_LIMIT_BYTES) return;
      const who = parseHandshake(received.slice(0, Math.max(0, end)));
      if (who !== null && this.#isExpected(who)) {
        this.#cancel();
        greetedAt = clock.monotonic();
        if (!this.#met) this.#failures = 0;
        this.#met = true;
        this.#connected = true;
        return;
      }
      if (who !== null) failure = 'other incarnation';
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

  /** Reconnects as a probe: when the same incarnation answers, its connection is kept. */
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
    if (this.#met && (failure === 'other incarnation' || this.#refusals >= REFUSALS)) {
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

/** Whether the connection was refused, at all addresses of the name. */
function isRefusal(error: Error): boolean {
  if (error instanceof AggregateError)
    return error.errors.length > 0 && error.errors.every((one) => one instanceof Error && isRefusal(one));
  return 'code' in error && error.code === 'ECONNREFUSED';
}
