import {
  Client,
  credentials,
  type Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { NodeClusterServiceService as service } from '../../../proto/gen/svc/cluster/v1/cluster.ts';

const asBytes = (value: Buffer): Buffer => value;

/** One message as it went over the wire. */
export interface Recorded {
  /** Name of the RPC. */
  readonly method: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly request: Buffer;
}

/** An attacker between two nodes who has none of their keys: it records every message and forwards or holds it. */
export class WireTap {
  readonly recorded: Recorded[] = [];
  /** Names of RPCs that it drops. */
  readonly held = new Set<string>();
  // Without its bookkeeping the library finds no connection to cut.
  readonly #server = new Server({ 'grpc.enable_channelz': 1 });
  #behind: Client;
  address = '';

  constructor(behind: string) {
    this.#behind = new Client(behind, credentials.createInsecure());
  }

  async listen(): Promise<this> {
    const methods: Record<string, MethodDefinition<Buffer, Buffer>> = {};
    const handlers: UntypedServiceImplementation = {};
    for (const [name, definition] of Object.entries(service)) {
      const { path, requestStream, responseStream } = definition;
      const bytes = { requestSerialize: asBytes, requestDeserialize: asBytes };
      const answers = { responseSerialize: asBytes, responseDeserialize: asBytes };
      methods[name] = { path, requestStream, responseStream, ...bytes, ...answers };
      handlers[name] = responseStream
        ? (call: ServerWritableStream<Buffer, Buffer>) => this.#stream(path, call)
        : (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => this.#unary(path, call, done);
    }
    this.#server.addService(methods, handlers);
    const port = await new Promise<number>((resolve, reject) =>
      this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) =>
        error === null ? resolve(at) : reject(error),
      ),
    );
    this.address = `127.0.0.1:${port}`;
    return this;
  }

  /** Sends further calls to another server. */
  moveTo(behind: string): void {
    this.#behind.close();
    this.#behind = new Client(behind, credentials.createInsecure());
  }

  close(): void {
    this.#server.forceShutdown();
    this.#behind.close();
  }

  /** The last recorded message of a method. */
  last(method: string): Recorded {
    const found = this.recorded.findLast((one) => one.method === method);
    if (found === undefined) throw new Error(`no ${method} was recorded`);
    return found;
  }

  #unary(path: string, call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void {
    if (this.#keep(path, call)) return;
    let answer: Buffer | undefined;
    this.#behind
      .makeUnaryRequest(path, asBytes, asBytes, call.request, call.metadata, (_error, bytes) => {
        answer = bytes;
      })
      .on('status', (status) => {
        // The answer arrives before the status or right after it.
        setImmediate(() => (status.code === 0 ? done(null, answer, status.metadata) : done(status)));
      });
  }

  #stream(path: string, call: ServerWritableStream<Buffer, Buffer>): void {
    if (this.#keep(path, call)) return;
    const behind = this.#behind.makeServerStreamRequest(path, asBytes, asBytes, call.request, call.metadata);
    behind.on('data', (bytes: Buffer) => call.write(bytes));
    behind.on('error', () => {
      // The status has the error.
    });
    behind.on('status', (status) => (status.code === 0 ? call.end(status.metadata) : call.emit('error', status)));
    call.on('cancelled', () => behind.cancel());
  }

  #keep(path: string, { metadata, request }: { readonly metadata: Metadata; readonly request: Buffer }): boolean {
    const method = path.slice(path.lastIndexOf('/') + 1);
    const known = ['authorization', 'svc-proof', 'svc-node-grpc-address', 'x-tenant-id', 'svc-join-token'];
    const shown = known.flatMap((key) => metadata.get(key).map((value) => [key, String(value)]));
    this.recorded.push({ method, metadata: Object.fromEntries(shown), request });
    return this.held.has(method);
  }
}
