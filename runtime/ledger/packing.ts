import { promisify } from 'node:util';
import { constants, inflateRaw, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';

const inflate = promisify(inflateRaw);

const compress = promisify(zstdCompress);

const decompress = promisify(zstdDecompress);

/** Text shorter than this is not compressed. */
const PLAIN_CHARS = 2_000;

/**
 * Text shorter than this is compressed on this thread, in some tenths of a millisecond. Moving it to another thread
 * costs as much.
 */
const HERE_CHARS = 128_000;
/** The same of packed text. */
const HERE_PACKED_CHARS = 32_000;

/** With a small table, which a processor keeps close by: deliveries repeat what is near. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_hashLog]: 13 } };

/** Mark in front of compressed text. Neither JSON text nor base64 begins with it. */
const MARK = '~';

/**
 * Packs the lines of a ledger segment for documents: JSON text, or from 2,000 characters on a mark and the base64 of
 * zstd. Deliveries repeat each other, so a fifth is written. Long text is compressed on another thread.
 */
export async function packLines(text: string): Promise<string> {
  if (text.length < PLAIN_CHARS) return text;
  const bytes = text.length < HERE_CHARS ? zstdCompressSync(text, FAST) : await compress(text, FAST);
  return MARK + bytes.toString('base64');
}

/** `packLines` for text in UTF-8, on this thread. */
export function packBytes(text: Buffer): string {
  return text.length < PLAIN_CHARS ? text.toString() : MARK + zstdCompressSync(text, FAST).toString('base64');
}

/** Reverses `packLines`. Earlier versions wrote the base64 of a raw deflate, without a mark. */
export async function unpackLines(packed: string): Promise<string> {
  if (packed.startsWith('[')) return packed;
  if (!packed.startsWith(MARK)) return (await inflate(Buffer.from(packed, 'base64'))).toString('utf8');
  const bytes = Buffer.from(packed.slice(MARK.length), 'base64');
  const text = packed.length < HERE_PACKED_CHARS ? zstdDecompressSync(bytes) : await decompress(bytes);
  return text.toString('utf8');
}
