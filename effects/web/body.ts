import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { SvcError } from '../../runtime/errors.ts';

export interface Body {
  readonly bytes: Buffer;
  /** There was more than the limit. */
  readonly truncated: boolean;
}

const MOST_ENCODINGS = 2;

/**
 * Reads a body and undoes its content encoding. Holds at most `maxBytes` of it as sent and of it as decoded, so a small
 * body that becomes a huge one costs no more than the limit. Throws `failed_precondition` for an encoding that is not
 * understood or broken, and for an encoded body that is over the limit as sent.
 */
export async function readBody(source: Readable, encoding: string, maxBytes: number): Promise<Body> {
  const names = encoding
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse();
  if (names.length > MOST_ENCODINGS) throw unreadable(`a body of ${names.length} content encodings`);
  let body = await collect(source, maxBytes);
  for (const name of names) {
    // Without its end it could be decoded in part only, and what is missing would not show.
    if (body.truncated) throw new SvcError('failed_precondition', `the ${name} body is over ${maxBytes} bytes`);
    if (body.bytes.length > 0) body = await decode(body.bytes, name, maxBytes);
  }
  return body;
}

async function collect(source: Readable, maxBytes: number): Promise<Body> {
  // Faults reach the loop below; one that comes after its end is nobody's business.
  source.on('error', () => {});
  const parts: Buffer[] = [];
  let left = maxBytes;
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk);
    parts.push(bytes.subarray(0, left));
    if (bytes.length > left) return { bytes: Buffer.concat(parts), truncated: true };
    left -= bytes.length;
  }
  return { bytes: Buffer.concat(parts), truncated: false };
}

async function decode(bytes: Buffer, name: string, maxBytes: number): Promise<Body> {
  const decoder = decoderOf(name, bytes);
  try {
    decoder.end(bytes);
    return await collect(decoder, maxBytes);
  } catch (cause) {
    throw unreadable(`a broken ${name} body`, cause);
  } finally {
    decoder.destroy();
  }
}

function decoderOf(name: string, bytes: Buffer): Transform {
  if (name === 'gzip' || name === 'x-gzip') return createGunzip();
  if (name === 'br') return createBrotliDecompress();
  // Some servers send deflate without the header of zlib.
  if (name === 'deflate') return ((bytes[0] ?? 0) & 0x0f) === 0x08 ? createInflate() : createInflateRaw();
  throw unreadable(`a body of content encoding ${name.slice(0, 40)}`);
}

const unreadable = (what: string, cause?: unknown): SvcError =>
  new SvcError('failed_precondition', `${what} cannot be read`, { cause });
