import { isIPv6 } from 'node:net';
import { type Metadata, Server, type ServerCredentials } from '@grpc/grpc-js';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { Health } from '../health.ts';
import type { OpenStreams } from '../open-streams.ts';
import { callContext } from './call-context.ts';
import { addHealth } from './health.ts';
import type { GrpcLimits } from './limits.ts';
import type { GrpcLogger } from './parts.ts';
import { addReflection } from './reflection.ts';

export interface GrpcServer {
  /** Resolves with the bound `host:port`. Throws `unavailable` when the address cannot be had. */
  listen(host: string, port: number): Promise<string>;
  /** Ends the open event streams, lets other calls finish for a while, then cuts the connections. */
  close(): Promise<void>;
}

/** What both ports, of clients and of nodes, are made of. */
export interface EndpointParts {
  /** Full names of the services the methods belong to: what health and reflection tell of. */
  readonly services: readonly string[];
  readonly credentials: ServerCredentials;
  /** Who calls, or null where that is nobody's business; throws for a call that is refused unread. */
  admit(path: string, metadata: Metadata): Promise<Identity | null>;
  readonly logger: GrpcLogger;
  readonly health: Health;
  readonly limits: GrpcLimits;
  readonly streams: OpenStreams;
}

/** A gRPC server with health, reflection and what `addMethods` adds; it does not listen yet. */
export function createEndpoint(parts: EndpointParts, addMethods: (server: Server) => void): GrpcServer {
  const { limits, credentials, streams } = parts;
  const server = new Server({
    'grpc.max_receive_message_length': limits.messageBytes,
    'grpc.max_concurrent_streams': limits.callsPerConnection,
    'grpc.keepalive_time_ms': limits.keepaliveMs,
    'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
    // Without its bookkeeping the library finds no connection to cut when the server is forced to shut down.
    'grpc.enable_channelz': 1,
    interceptors: [callContext(parts)],
  });
  addMethods(server);
  addHealth(server, parts);
  addReflection(server, parts.services);
  let closing: Promise<void> | undefined;
  return {
    async listen(host, port) {
      const address = await bind(server, { host, port, credentials });
      parts.logger.debug({ address, services: parts.services }, 'gRPC server listens');
      return address;
    },
    close() {
      streams.endAll();
      closing ??= shutDown(server, limits.closeGraceMs);
      return closing;
    },
  };
}

async function bind(
  server: Server,
  { host, port, credentials }: { host: string; port: number; credentials: ServerCredentials },
): Promise<string> {
  const shown = isIPv6(host) ? `[${host}]` : host;
  return new Promise((resolve, reject) => {
    server.bindAsync(`${shown}:${port}`, credentials, (error, bound) => {
      if (error === null) return resolve(`${shown}:${bound}`);
      const text = `gRPC cannot listen on ${shown}:${port} (choose another port; 0 picks a free one)`;
      reject(new SvcError('unavailable', text, { cause: error }));
    });
  });
}

async function shutDown(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
