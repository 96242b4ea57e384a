import { promisify } from 'node:util';
import { constants, deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Shorter text is not worth the detour. */
const PLAIN_CHARS = 2_000;
/** Up to a tenth of a millisecond of the thread of turns: handing the text to another one costs as much. */
const HERE_CHARS = 32_000;
const FAST = { level: constants.Z_BEST_SPEED };

/**
 * Lines of a ledger segment as documents keep them: JSON text, or from 2,000 characters on the base64 of its raw
 * deflate. Deliveries repeat each other, so a tenth is written; long ones are compressed on another thread.
 */
export async function packLines(text: string): Promise<string> {
  if (text.length < PLAIN_CHARS) return text;
  const bytes = text.length < HERE_CHARS ? deflateRawSync(text, FAST) : await deflate(text, FAST);
  return bytes.toString('base64');
}

/** What `packLines` was given. JSON text begins with a bracket, base64 never does. */
export async function unpackLines(packed: string): Promise<string> {
  if (packed.startsWith('[')) return packed;
  return (await inflate(Buffer.from(packed, 'base64'))).toString('utf8');
}
