import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, isIP, isIPv6, type Server as NetServer, type Socket } from 'node:net';
import { type ConnectionInjector, Server, ServerCredentials } from '@grpc/grpc-js';
import { SvcError } from '../../runtime/errors.ts';
import { ConnectionGate, mostConnections } from '../connection-gate.ts';
import { OpenStreams } from '../open-streams.ts';
import { ReadingTurns } from '../reading-turns.ts';
import { type ServerTls, TlsFront } from '../tls.ts';
import { callContext } from './call-context.ts';
import { beginInRounds, CallRounds } from './call-rounds.ts';
import { addHealth } from './health.ts';
import type { EndpointParts } from './parts.ts';
import { addReflection } from './reflection.ts';

export interface GrpcServer {
  /** Resolves with the bound `host:port`. Throws `unavailable` when the address cannot be bound. */
  listen(host: string, port: number): Promise<string>;
  /** Ends the open event streams, lets other calls finish for a grace period, then cuts the connections. */
  close(): Promise<void>;
}

/** Creates a gRPC server with health, reflection and the services of `addMethods`. It does not listen yet. */
export function createEndpoint(parts: EndpointParts, addMethods: (server: Server) => void): GrpcServer {
  const { limits, tls, streams } = parts;
  const server = new Server({
    'grpc.max_receive_message_length': limits.messageBytes,
    // More once a call was admitted.
    'grpc.max_concurrent_streams': Math.min(limits.firstCalls, limits.callsPerConnection),
    'grpc.keepalive_time_ms': limits.keepaliveMs,
    'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
    // Switches off the bookkeeping for a service that this server does not have.
    'grpc.enable_channelz': 0,
    interceptors: [callContext(parts)],
  });
  addMethods(server);
  const watches = new OpenStreams({
    most: limits.healthWatches,
    perCaller: limits.healthWatchesPerConnection,
  });
  addHealth(server, { ...parts, watches });
  addReflection(server, parts.services);
  const gate = new ConnectionGate(mostConnections(limits), parts.proxies, parts.isOfAgents);
  const listener = new GrpcListener(gate, server.createConnectionInjector(ServerCredentials.createInsecure()), tls);
  beginInRounds(server, new CallRounds(listener.reading));
  let closing: Promise<void> | undefined;
  return {
    async listen(host, port) {
      const address = await listener.listen(host, port);
      parts.logger.debug({ address, services: parts.services }, 'gRPC server listens');
      return address;
    },
    close() {
      streams.endAll();
      watches.endAll();
      listener.close();
      closing ??= shutDown(server, listener, limits.closeGraceMs);
      return closing;
    },
  };
}

/**
 * Waits until the connections have closed. `tryShutdown` does not: on Node.js 24 closing an HTTP/2 server closes its
 * sessions, which the library takes for closed connections, so it calls back at once. Calls that are cut off end as
 * UNAVAILABLE, so that clients try another node; `forceShutdown` would end them as CANCELLED.
 */
async function shutDown(server: Server, listener: GrpcListener, graceMs: number): Promise<void> {
  const timer = setTimeout(() => listener.cut(), graceMs);
  server.tryShutdown(() => {});
  await listener.empty();
  clearTimeout(timer);
}

/** Most connections that wait to be accepted, if the system allows that many. */
const BACKLOG = 4_096;

/**
 * The sockets of a gRPC server. They are accepted here, so that they can be counted, and passed to the library. A host
 * name with several addresses listens on each of them, on the same port.
 */
class GrpcListener {
  readonly #gate: ConnectionGate;
  readonly #injector: ConnectionInjector;
  readonly #servers: NetServer[] = [];
  readonly #open = new Set<Socket>();
  readonly reading = new ReadingTurns();
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
      this.reading.add(socket);
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

  /** Stops accepting connections; open ones stay. */
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
