import {
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import { toSvcError } from '../../runtime/errors.ts';
import type { OpenStreams } from '../open-streams.ts';
import { readable, traceOfCall } from './call-context.ts';
import type { EndpointParts } from './parts.ts';
import { statusOf } from './status.ts';

type Serving = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
interface HealthRequest {
  readonly service: string;
}
interface HealthAnswer {
  readonly status: Serving;
}

interface HealthParts extends Pick<EndpointParts, 'services' | 'health' | 'limits' | 'logger'> {
  /** Separate from the event streams, which are for known callers: health watchers are unknown. */
  readonly watches: OpenStreams;
}

/**
 * Adds `grpc.health.v1.Health`, which reads the node's readiness at each call, for the server and each of its services.
 */
export function addHealth(server: Server, parts: HealthParts): void {
  // The empty name stands for the whole server.
  const services = ['', ...parts.services];
  const look = async (name: string): Promise<Serving> => {
    if (!services.includes(name)) return 'SERVICE_UNKNOWN';
    try {
      return (await parts.health.ready()).ready ? 'SERVING' : 'NOT_SERVING';
    } catch (error) {
      parts.logger.warn({ err: error }, 'readiness cannot be told');
      return 'NOT_SERVING';
    }
  };
  server.addService(decodedSafely(service), {
    check: (call: ServerUnaryCall<HealthRequest, HealthAnswer>, answer: sendUnaryData<HealthAnswer>) => {
      look(call.request.service).then(
        (serving) => {
          if (serving !== 'SERVICE_UNKNOWN') answer(null, { status: serving });
          else answer({ code: status.NOT_FOUND, details: 'this server has no such service' });
        },
        (error: unknown) => parts.logger.error({ err: error }, 'health check failed'),
      );
    },
    list: (_call: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) => {
      look('').then(
        (serving) =>
          answer(null, { statuses: Object.fromEntries(services.map((name) => [name, { status: serving }])) }),
        (error: unknown) => parts.logger.error({ err: error }, 'health list failed'),
      );
    },
    watch: (call: ServerWritableStream<HealthRequest, HealthAnswer>) => {
      watch(call, look, parts).then(
        () => call.end(),
        (error: unknown) => call.emit('error', statusOf(toSvcError(error), traceOfCall(call.metadata))),
      );
    },
  });
}

const decodedSafely = (methods: ServiceDefinition): ServiceDefinition =>
  Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      { ...method, requestDeserialize: readable(method.requestDeserialize) },
    ]),
  );

/** Sends the status at once and after each change. */
async function watch(
  call: ServerWritableStream<HealthRequest, HealthAnswer>,
  look: (name: string) => Promise<Serving>,
  parts: HealthParts,
): Promise<void> {
  using stream = parts.watches.open({ caller: call.getPeer() });
  call.once('cancelled', () => stream.stop('client_gone'));
  let told: Serving | null = null;
  while (!stream.signal.aborted && !call.cancelled) {
    const now = await look(call.request.service);
    // A client that does not read gets the current status when it reads again, not each change.
    if (now !== told && call.write({ status: now })) told = now;
    await pause(parts.limits.healthPollMs, stream.signal);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
