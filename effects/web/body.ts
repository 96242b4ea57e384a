import type { Readable, Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { SvcError } from '../../runtime/errors.ts';
import { counted } from '../../runtime/kit/counted.ts';

interface Body {
  readonly bytes: Buffer;
  /** The body is longer than the limit. */
  readonly truncated: boolean;
}

const MAX_ENCODINGS = 2;

/**
 * Reads a body and decodes its content encoding. Holds at most `maxBytes` of the encoded and of the decoded body, so a
 * decompression bomb costs no more than the limit. Throws `failed_precondition` for an unknown or broken encoding, and for
 * an encoded body over the limit.
 */
export async function readBody(source: Readable, encoding: string, maxBytes: number): Promise<Body> {
  const names = encoding
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse();
  if (names.length > MAX_ENCODINGS) throw unreadable(`a body of ${names.length} content encodings`);
  let body = await collect(source, maxBytes);
  for (const name of names) {
    // A truncated body would decode to an incomplete text without an error.
    if (body.truncated) throw new SvcError('failed_precondition', `the ${name} body is over ${maxBytes} bytes`);
    if (body.bytes.length > 0) body = await decode(body.bytes, name, maxBytes);
  }
  return body;
}

async function collect(source: Readable, maxBytes: number): Promise<Body> {
  // The loop below gets errors; one after its end is irrelevant.
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
  // Some servers send deflate without the zlib header.
  if (name === 'deflate') return ((bytes[0] ?? 0) & 0x0f) === 0x08 ? createInflate() : createInflateRaw();
  throw unreadable(`a body of content encoding ${name.slice(0, 40)}`);
}

const unreadable = (what: string, cause?: unknown): SvcError =>
  new SvcError('failed_precondition', `${what} cannot be read`, { cause });

const TEXTUAL =
  /^(text\/[^;]+|application\/(json|xml|javascript|ecmascript|x-javascript|x-ndjson|ndjson|jsonl|yaml|x-yaml|toml|sql|graphql|x-sh|x-www-form-urlencoded|rtf|x-subrip)|[^;]+\+(json|xml|yaml))$/;

const HTML = /^(text\/html|application\/xhtml\+xml)$/;

/** The part of a page that declares its charset. */
const HEAD_BYTES = 1_024;

export interface ContentType {
  /** `text/html`, without parameters; empty if the server sent none. */
  readonly type: string;
  readonly charset: string | null;
}

export function parseContentType(header: string): ContentType {
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim());
  const charset = parameters
    .map((parameter) => /^charset\s*=\s*"?([^"\s]+)"?$/i.exec(parameter)?.[1])
    .find((found) => found !== undefined);
  return { type: type.toLowerCase(), charset: charset ?? null };
}

export const isHtml = ({ type }: ContentType): boolean => HTML.test(type);

/** Throws `failed_precondition` with type and size for content that is not text. */
export function checkTextual({ type }: ContentType, size: string | undefined): void {
  if (type === '' || TEXTUAL.test(type)) return;
  const bytes = size !== undefined && /^\d{1,15}$/.test(size) ? counted(Number(size), 'byte') : 'unknown size';
  throw new SvcError(
    'failed_precondition',
    `binary content of type ${type.slice(0, 100)}, ${bytes}: only text can be fetched`,
  );
}

/** Decodes the bytes. Content without a type counts as text unless it contains NUL. */
export function decodeText(bytes: Buffer, content: ContentType): string {
  const marked = markedCharset(bytes);
  if (content.type === '' && marked === null && bytes.subarray(0, HEAD_BYTES).includes(0)) {
    throw new SvcError(
      'failed_precondition',
      `binary content without a type, ${counted(bytes.length, 'byte')}: only text can be fetched`,
    );
  }
  const named = marked ?? content.charset ?? declaredCharset(bytes, content);
  return textDecoderOf(named ?? 'utf-8').decode(bytes);
}

function markedCharset(bytes: Buffer): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : null;
}

function declaredCharset(bytes: Buffer, content: ContentType): string | null {
  if (!isHtml(content) && !content.type.endsWith('xml')) return null;
  const head = bytes.toString('latin1', 0, HEAD_BYTES);
  const declared = /<meta[^>]{0,200}charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_:.-]{1,40})/i.exec(head);
  const xml = /^<\?xml[^>]{0,200}encoding\s{0,9}=\s{0,9}["']([A-Za-z0-9_:.-]{1,40})/i.exec(head);
  const name = (declared ?? xml)?.[1] ?? null;
  // A declaration in single-byte characters rules out UTF-16.
  return name !== null && /^utf-?16/i.test(name) ? 'utf-8' : name;
}

function textDecoderOf(name: string) {
  try {
    return new TextDecoder(name);
  } catch {
    // Unknown charset: invalid UTF-8 becomes U+FFFD.
    return new TextDecoder('utf-8');
  }
}
