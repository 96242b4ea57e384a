import type { ClientHttp2Session } from 'node:http2';
import { connect } from 'node:http2';
import { connect as connectSocket, type Socket } from 'node:net';
import { Duplex } from 'node:stream';

const HEADERS_FRAME = 1;
const END_STREAM = 1;
const FRAME_HEAD_BYTES = 9;

/**
 * An HTTP/2 session of Node.js, and which of its streams were answered to the end by what is on the wire. The client of Node.js
 * emits no `response` when the answer and a reset of the stream are read together, as of a call that is refused before its
 * request was read: such a call looks as if it had no answer.
 */
export class WatchedSession {
  readonly session: ClientHttp2Session;
  readonly #answered = new Set<number>();
  #rest: Buffer = Buffer.alloc(0);

  /** @param address `host:port` of a server without TLS */
  constructor(address: string) {
    const { hostname, port } = new URL(`http://${address}`);
    const socket = connectSocket({ host: hostname, port: Number(port) });
    this.session = connect(`http://${address}`, { createConnection: () => this.#watched(socket) });
  }

  /** Whether the last headers of a stream have arrived. */
  hasAnswered(streamId: number | undefined): boolean {
    return streamId !== undefined && this.#answered.has(streamId);
  }

  #watched(socket: Socket): Duplex {
    const wire = new Duplex({
      read: () => void socket.resume(),
      write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
      final: (done) => void socket.end(done),
      destroy(error, done) {
        socket.destroy();
        done(error);
      },
    });
    socket.on('data', (chunk) => {
      this.#look(chunk);
      if (!wire.push(chunk)) socket.pause();
    });
    socket.once('end', () => wire.push(null));
    socket.once('error', (error) => wire.destroy(error));
    return wire;
  }

  #look(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= FRAME_HEAD_BYTES) {
      const end = FRAME_HEAD_BYTES + bytes.readUIntBE(0, 3);
      if (bytes.length < end) break;
      const [type, flags] = [bytes.readUInt8(3), bytes.readUInt8(4)];
      if (type === HEADERS_FRAME && (flags & END_STREAM) !== 0) this.#answered.add(bytes.readUInt32BE(5) & 0x7fff_ffff);
      bytes = bytes.subarray(end);
    }
    this.#rest = Buffer.from(bytes);
  }
}
