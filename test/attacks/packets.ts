import type { Socket } from 'node:net';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const FRAME = { data: 0, headers: 1, reset: 3, settings: 4 } as const;
const HEAD_BYTES = 9;
const FLAG = { endStream: 1, endHeaders: 4 } as const;
/** A message of no bytes. */
const EMPTY_MESSAGE = Buffer.alloc(5);

interface Call {
  readonly path: string;
  readonly authority: string;
  readonly token: string | null;
  /** The call's message as it is sent; default: one of no bytes. */
  readonly message?: Buffer;
}

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A text of HPACK, as it is. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const rest = bytes.length - 127;
  return Buffer.concat([Buffer.from([127, (rest & 127) | 128, rest >> 7]), bytes]);
}

/** The headers of a first call, which the table of the connection keeps, and of each further one, a byte for each. */
function headersOf({ path, authority, token }: Call): { readonly first: Buffer; readonly further: Buffer } {
  const fields: Buffer[] = [
    Buffer.concat([Buffer.from([0x44]), text(path)]),
    Buffer.concat([Buffer.from([0x41]), text(authority)]),
    Buffer.concat([Buffer.from([0x5f]), text('application/grpc')]),
    Buffer.concat([Buffer.from([0x40]), text('te'), text('trailers')]),
    ...(token === null ? [] : [Buffer.concat([Buffer.from([0x57]), text(`Bearer ${token}`)])]),
  ];
  const known = fields.map((_, at) => 0x80 | (61 + fields.length - at));
  return {
    first: Buffer.concat([Buffer.from([0x83, 0x86]), ...fields]),
    further: Buffer.from([0x83, 0x86, ...known]),
  };
}

/** An HTTP/2 connection with `count` whole gRPC calls at once. */
export function packedCalls(count: number, call: Call): Buffer {
  const { first, further } = headersOf(call);
  const frames = Array.from({ length: count }, (_, at) => {
    const stream = 2 * at + 1;
    return [
      frame(FRAME.headers, FLAG.endHeaders, stream, at === 0 ? first : further),
      frame(FRAME.data, FLAG.endStream, stream, call.message ?? EMPTY_MESSAGE),
    ];
  });
  return Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0, 0), ...frames.flat()]);
}

interface Answers {
  /** Calls with a status. */
  readonly answered: number;
  /** Calls that were refused unread. */
  readonly reset: number;
}

/** Reads a connection until so many calls have ended, or it is closed. */
export function answersTo(socket: Socket, count: number): Promise<Answers> {
  let [answered, reset] = [0, 0];
  let rest = Buffer.alloc(0);
  return new Promise((resolve) => {
    const done = (): void => resolve({ answered, reset });
    socket.once('close', done);
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      for (let length = lengthOf(rest); length <= rest.length; length = lengthOf(rest)) {
        const [type, flags = 0] = [rest[3], rest[4]];
        if (type === FRAME.headers && (flags & FLAG.endStream) !== 0) answered += 1;
        if (type === FRAME.reset) reset += 1;
        rest = rest.subarray(length);
      }
      if (answered + reset >= count) done();
    });
  });
}

/** Of the first frame; more than there is where its head has not arrived. */
const lengthOf = (bytes: Buffer): number =>
  bytes.length < HEAD_BYTES ? HEAD_BYTES : HEAD_BYTES + bytes.readUIntBE(0, 3);
