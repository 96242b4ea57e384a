import { StringDecoder } from 'node:string_decoder';

interface Streams {
  readonly stdout: string;
  readonly stderr: string;
}

/** Both streams within so many bytes: bytes that are no UTF-8 became three each, so text may be longer than its bytes. */
export function fitted({ stdout, stderr }: Streams, maxBytes: number): Streams {
  const kept = head(stdout, maxBytes);
  return { stdout: kept, stderr: head(stderr, maxBytes - Buffer.byteLength(kept)) };
}

/** Half a character at the cut is left out. */
function head(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return new StringDecoder('utf8').write(Buffer.from(text).subarray(0, bytes));
}
