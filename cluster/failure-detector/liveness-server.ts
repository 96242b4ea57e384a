import { once } from 'node:events';
import { createServer, isIPv6, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

interface LivenessServerOptions extends NodeIncarnation {
  readonly host: string;
  /** Default 0: a free one that the system picks. */
  readonly port?: number;
  readonly warn: (message: string, error: unknown) => void;
}

export interface LivenessServer {
  /** As bound; `advertisedHost` says what to tell others. */
  readonly host: string;
  readonly port: number;
  /**
   * Ends it and every connection. Peers that cannot connect any more take this life for dead, so a node that stops in
   * order leaves first.
   */
  close(): Promise<void>;
}

const CONNECTIONS = 1_000;

const KEEP_ALIVE_MS = 15_000;

/** Says who this is to whoever connects, and then nothing: that the connection stays is all there is to know. */
export async function startLivenessServer(options: LivenessServerOptions): Promise<LivenessServer> {
  const sockets = new Set<Socket>();
  const handshake = handshakeOf(options);
  const server = createServer({ keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Whoever connected is gone; nothing was promised to them.
    socket.on('error', () => socket.destroy());
    socket.on('data', () => {
      // Nobody has anything to say here.
      if (socket.bytesRead > HANDSHAKE_LIMIT_BYTES) socket.destroy();
    });
    socket.write(handshake);
  });
  server.maxConnections = CONNECTIONS;
  server.listen(options.port ?? 0, options.host);
  await once(server, 'listening');
  server.on('error', (error) => options.warn('the pulse listener failed', error));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the pulse listener has no port');
  return {
    host: bound.address,
    port: bound.port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** One life of a node, as its pulse names it. */
export interface NodeIncarnation {
  readonly node: string;
  readonly incarnation: string;
}

/** Longest line anybody reads. */
export const HANDSHAKE_LIMIT_BYTES = 400;

const HANDSHAKE = /^svc-pulse 1 ([^\s]{1,128}) ([^\s]{1,128})$/;

/** The only thing a pulse connection ever carries: who is at the other end. */
export const handshakeOf = ({ node, incarnation }: NodeIncarnation): string => `svc-pulse 1 ${node} ${incarnation}\n`;

/** Null for anything that is not the handshake line of this version. */
export function parseHandshake(line: string): NodeIncarnation | null {
  const [, node, incarnation] = HANDSHAKE.exec(line) ?? [];
  return node === undefined || incarnation === undefined ? null : { node, incarnation };
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

const WILDCARDS = ['0.0.0.0', '::', '', '*'];

/**
 * The host that other nodes reach this one by: `spec.cluster.advertise_host`, else the address that was bound, else
 * (bound to all of them) the first that is not internal, IPv4 before IPv6; on a machine without any, loopback.
 */
export function advertisedHost(
  configured: string | undefined,
  bound: string,
  interfaces: ReturnType<typeof networkInterfaces> = networkInterfaces(),
): string {
  if (configured !== undefined) return configured;
  if (!WILDCARDS.includes(bound)) return bound;
  const outer = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    // Link-local addresses mean nothing without the interface.
    .filter(({ internal, address }) => !internal && !/^(fe80:|169\.254\.)/i.test(address));
  const first = outer.find(({ family }) => family === 'IPv4') ?? outer[0];
  return first?.address ?? '127.0.0.1';
}

/** `host:port`, an IPv6 host in brackets. */
export const hostPort = (host: string, port: number): string =>
  isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;

/** Null for what `hostPort` would not have written. */
export function parseHostPort(text: string): HostPort | null {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253})):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? null : { host, port };
}

/** A bound `host:port` as others reach it. */
export function advertised(bound: string, configured: string | undefined): string {
  const parsed = parseHostPort(bound);
  return parsed === null ? bound : hostPort(advertisedHost(configured, parsed.host), parsed.port);
}
