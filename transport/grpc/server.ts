import { isIPv6 } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { SvcError } from '../../runtime/errors.ts';
import { OpenStreams } from '../open-streams.ts';
import { callContext } from './call-context.ts';
import { addHealth } from './health.ts';
import { GRPC_LIMITS, type GrpcLimits } from './limits.ts';
import type { GrpcParts, GrpcServerParts } from './parts.ts';
import { addReflection } from './reflection.ts';
import { addSvcRuntime } from './svc-runtime.ts';

export interface GrpcServer {
  /** Resolves with the bound `host:port`. Throws `unavailable` when the address cannot be had. */
  listen(host: string, port: number): Promise<string>;
  /** Ends the open event streams, lets other calls finish for a while, then cuts the connections. */
  close(): Promise<void>;
}

/** The gRPC API (spec 1) as a server that does not listen yet. */
export function createGrpcServer(given: GrpcServerParts): GrpcServer {
  const limits: GrpcLimits = { ...GRPC_LIMITS, ...given.limits };
  const parts: GrpcParts = { ...given, limits, streams: new OpenStreams(limits.streams) };
  const server = new Server({
    'grpc.max_receive_message_length': limits.messageBytes,
    'grpc.max_concurrent_streams': limits.callsPerConnection,
    'grpc.keepalive_time_ms': limits.keepaliveMs,
    'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
    // Without its bookkeeping the library finds no connection to cut when the server is forced to shut down.
    'grpc.enable_channelz': 1,
    interceptors: [callContext(parts)],
  });
  addSvcRuntime(server, parts);
  addHealth(server, parts);
  addReflection(server);
  let closing: Promise<void> | undefined;
  return {
    async listen(host, port) {
      const address = await bind(server, host, port);
      parts.logger.debug({ address, version: parts.version }, 'gRPC server listens');
      return address;
    },
    close() {
      parts.streams.endAll();
      closing ??= shutDown(server, limits.closeGraceMs);
      return closing;
    },
  };
}

async function bind(server: Server, host: string, port: number): Promise<string> {
  const shown = isIPv6(host) ? `[${host}]` : host;
  return new Promise((resolve, reject) => {
    server.bindAsync(`${shown}:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
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
