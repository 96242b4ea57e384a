import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, isIP, isIPv6, type Server as NetServer, type Socket } from 'node:net';
import type { ConnectionInjector } from '@grpc/grpc-js';
import { SvcError } from '../../runtime/errors.ts';
import type { ConnectionGate } from '../connection-gate.ts';
import { type ServerTls, TlsFront } from '../tls.ts';

/** So many wait to be accepted, as far as the system takes so many. */
const BACKLOG = 4_096;

/**
 * The sockets of a gRPC server: accepted here, so that they are counted, and handed to the library. A name that stands for
 * several addresses listens on each, at one port.
 */
export class GrpcListener {
  readonly #gate: ConnectionGate;
  readonly #injector: ConnectionInjector;
  readonly #servers: NetServer[] = [];
  readonly #open = new Set<Socket>();
  #whenEmpty: (() => void)[] = [];
  readonly #front: TlsFront | null;

  constructor(gate: ConnectionGate, injector: ConnectionInjector, tls?: ServerTls) {
    this.#gate = gate;
    this.#injector = injector;
    const secured = (socket: Socket): void => injector.injectConnection(socket);
    this.#front = tls === undefined ? null : new TlsFront(tls, 'h2', secured);
  }

  /** Resolves with the bound `host:port`. Throws `unavailable`. */
  async listen(host: string, port: number): Promise<string> {
    const shown = isIPv6(host) ? `[${host}]` : host;
    try {
      const addresses = isIP(host) === 0 ? await lookup(host, { all: true }) : [{ address: host }];
      let bound = port;
      for (const { address } of addresses) bound = await this.#listenOn(address, bound);
      return `${shown}:${bound}`;
    } catch (cause) {
      this.close();
      const text = `gRPC cannot listen on ${shown}:${port} (choose another port; 0 picks a free one)`;
      throw new SvcError('unavailable', text, { cause });
    }
  }

  async #listenOn(host: string, port: number): Promise<number> {
    const server = createServer((socket) => {
      if (!this.#gate.enter(socket)) return;
      this.#keep(socket);
      socket.setNoDelay(true);
      if (this.#front === null) this.#injector.injectConnection(socket);
      else this.#front.accept(socket);
    });
    server.listen({ host, port, backlog: BACKLOG });
    await once(server, 'listening');
    this.#servers.push(server);
    const bound = server.address();
    return typeof bound === 'object' && bound !== null ? bound.port : port;
  }

  #keep(socket: Socket): void {
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#open.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
    });
  }

  /** Takes no more connections; those there are stay. */
  close(): void {
    for (const server of this.#servers.splice(0)) server.close();
    this.#front?.close();
  }

  /** Resolves once no connection is open. */
  async empty(): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.#open) socket.destroy();
  }
}
