import { promisify } from 'node:util';
import { constants, inflateRaw, zstdCompress, zstdCompressSync, zstdDecompress } from 'node:zlib';

const inflate = promisify(inflateRaw);
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Shorter text is not worth the detour. */
const PLAIN_CHARS = 2_000;
/** Some tenths of a millisecond of the thread of turns: handing the text to another one costs as much. */
const HERE_CHARS = 128_000;
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** In front of what zstd packed; of neither JSON text nor base64. */
const MARK = '~';

/**
 * Lines of a ledger segment as documents keep them: JSON text, or from 2,000 characters on a mark and the base64 of zstd.
 * Deliveries repeat each other, so a fifth is written; long ones are compressed on another thread.
 */
export async function packLines(text: string): Promise<string> {
  if (text.length < PLAIN_CHARS) return text;
  const bytes = text.length < HERE_CHARS ? zstdCompressSync(text, FAST) : await compress(text, FAST);
  return MARK + bytes.toString('base64');
}

/** What `packLines` was given. Earlier versions left the base64 of a raw deflate, without a mark. */
export async function unpackLines(packed: string): Promise<string> {
  if (packed.startsWith('[')) return packed;
  if (!packed.startsWith(MARK)) return (await inflate(Buffer.from(packed, 'base64'))).toString('utf8');
  return (await decompress(Buffer.from(packed.slice(MARK.length), 'base64'))).toString('utf8');
}
