import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Open connections of a listener; further ones are closed at once. */
  readonly connections: number;
  /** Share of the process' descriptors that its connections may take. The shares of all listeners leave some for stores and files. */
  readonly descriptorShare: number;
}

/**
 * Shares of a listener's connections that one address may have. A proxy in front of the node is one address for all its
 * clients, and stands on this machine.
 */
const SHARES = { loopback: 0.9, other: 0.25 };
/** Where the system does not tell. */
const USUAL_DESCRIPTORS = 65_536;

/** How many connections there may be: as set, and fewer where the system gives the process few descriptors. */
export function mostConnections({ connections, descriptorShare }: ConnectionLimits): number {
  return Math.max(1, Math.min(connections, Math.floor(descriptors() * descriptorShare)));
}

let known: number | undefined;

/** RLIMIT_NOFILE of the process. */
function descriptors(): number {
  known ??= limitOf(process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : '');
  return known;
}

function limitOf(table: string): number {
  const soft = Number(/^Max open files\s+(\d+)/m.exec(table)?.[1]);
  return Number.isSafeInteger(soft) && soft > 0 ? soft : USUAL_DESCRIPTORS;
}

/** Counts the connections of one listener, together and by address, and closes at once what is too many. */
export class ConnectionGate {
  readonly #most: number;
  readonly #addresses = new Map<string, number>();
  #open = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether it may stay; it is closed otherwise. */
  enter(socket: Socket): boolean {
    const address = socket.remoteAddress ?? '';
    const ofAddress = this.#addresses.get(address) ?? 0;
    if (this.#open >= this.#most || ofAddress >= this.#mostOf(address)) {
      socket.destroy();
      return false;
    }
    this.#open += 1;
    this.#addresses.set(address, ofAddress + 1);
    socket.once('close', () => this.#leave(address));
    return true;
  }

  #mostOf(address: string): number {
    const isLoopback = /^(?:::ffff:)?127\.|^::1$/.test(address);
    return Math.max(1, Math.ceil(this.#most * (isLoopback ? SHARES.loopback : SHARES.other)));
  }

  #leave(address: string): void {
    this.#open -= 1;
    const left = (this.#addresses.get(address) ?? 1) - 1;
    if (left === 0) this.#addresses.delete(address);
    else this.#addresses.set(address, left);
  }
}
