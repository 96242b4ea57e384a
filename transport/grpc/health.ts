import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import {
  type MethodDefinition,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
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
interface HealthList {
  readonly statuses: Readonly<Record<string, HealthAnswer>>;
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
      parts.logger.warn({ err: error }, 'the readiness of the node could not be read');
      return 'NOT_SERVING';
    }
  };
  server.addService(HEALTH, {
    check: (call: ServerUnaryCall<HealthRequest, HealthAnswer>, answer: sendUnaryData<HealthAnswer>) => {
      look(call.request.service).then(
        (serving) => {
          if (serving !== 'SERVICE_UNKNOWN') answer(null, { status: serving });
          else answer({ code: status.NOT_FOUND, details: 'this server has no such service' });
        },
        (error: unknown) => parts.logger.error({ err: error }, 'health check failed'),
      );
    },
    list: (_call: ServerUnaryCall<unknown, HealthList>, answer: sendUnaryData<HealthList>) => {
      look('').then(
        (serving) =>
          answer(null, { statuses: Object.fromEntries(services.map((name) => [name, { status: serving }])) }),
        (error: unknown) => parts.logger.error({ err: error }, 'the list of the health service could not be answered'),
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

/** `ServingStatus` of grpc/health/v1/health.proto. */
const STATUSES: Readonly<Record<Serving, number>> = { SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 };

function readRequest(bytes: Uint8Array): HealthRequest {
  const reader = new BinaryReader(bytes);
  let service = '';
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === WireType.LengthDelimited) service = reader.string();
    else reader.skip(wireType, field);
  }
  return { service };
}

const answerBytes = ({ status: serving }: HealthAnswer): Buffer =>
  Buffer.from(new BinaryWriter().tag(1, WireType.Varint).int32(STATUSES[serving]).finish());

function listBytes({ statuses }: HealthList): Buffer {
  const writer = new BinaryWriter();
  for (const [name, answer] of Object.entries(statuses)) {
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(name);
    writer.tag(2, WireType.LengthDelimited).bytes(answerBytes(answer)).join();
  }
  return Buffer.from(writer.finish());
}

/** A method as a server needs it: it reads requests and writes answers. */
const methodOf = <Answer>(
  name: string,
  responseStream: boolean,
  write: (answer: Answer) => Buffer,
): MethodDefinition<unknown, Answer> => ({
  path: `/grpc.health.v1.Health/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: clientSide,
  requestDeserialize: readable(readRequest),
  responseSerialize: write,
  responseDeserialize: clientSide,
});

const clientSide = (): never => {
  throw new Error('only clients need this');
};

/**
 * `grpc.health.v1.Health`, written by hand: the package that has it reads a .proto file when it is loaded, which takes a
 * twentieth of a node's start.
 */
const HEALTH: ServiceDefinition = {
  check: methodOf('Check', false, answerBytes),
  list: methodOf('List', false, listBytes),
  watch: methodOf('Watch', true, answerBytes),
};

/** Sends the status at once and after each change. */
async function watch(
  call: ServerWritableStream<HealthRequest, HealthAnswer>,
  look: (name: string) => Promise<Serving>,
  parts: HealthParts,
): Promise<void> {
  using stream = parts.watches.open({ caller: call.getPeer() });
  call.once('cancelled', () => stream.stop('client_gone'));
  let lastSent: Serving | null = null;
  while (!stream.signal.aborted && !call.cancelled) {
    const now = await look(call.request.service);
    // A client that does not read gets the current status when it reads again, not each change.
    if (now !== lastSent && call.write({ status: now })) lastSent = now;
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
