import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { SvcError } from '../../runtime/errors.ts';
import type { Recording } from '../../runtime/recording/recording.ts';
import {
  type CheckedLine,
  MOST_LINE_CHARS,
  RecordingCollector,
  RecordingLines,
  refusedLine,
} from '../../runtime/recording/recording-lines.ts';

/** Largest file of a recording, and its largest text. */
const MOST_FILE_BYTES = 256 * 1024 * 1024;
const MOST_TEXT_BYTES = 480 * 1024 * 1024;

/** Reads a recording, compressed or plain. Throws `invalid_argument` naming the line that is not valid. */
export async function readRecording(file: string): Promise<Recording> {
  const collector = new RecordingCollector();
  for await (const { line } of recordedLines(file)) collector.add(line);
  return collector.end();
}

/**
 * Reads a recording line by line, compressed or plain, so that no more than one line is in memory. Throws `invalid_argument`
 * naming the line that is not valid.
 */
export async function* recordedLines(
  file: string,
): AsyncGenerator<{ readonly line: CheckedLine; readonly number: number }> {
  const lines = new RecordingLines();
  for await (const text of textLines(file)) yield { line: lines.check(text), number: lines.line };
  lines.end();
}

async function* textLines(file: string): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let [parts, chars, number]: [string[], number, number] = [[], 0, 1];
  for await (const bytes of bytesOf(file)) {
    const text = decoder.write(bytes);
    let from = 0;
    for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
      yield parts.join('') + text.slice(from, to);
      [parts, chars, from, number] = [[], 0, to + 1, number + 1];
    }
    parts.push(text.slice(from));
    chars += text.length - from;
    // `RecordingLines` refuses it too, but only at the end of the line.
    if (chars > MOST_LINE_CHARS) throw refusedLine(number, `longer than ${MOST_LINE_CHARS} characters`);
  }
  const last = parts.join('') + decoder.end();
  if (last !== '') yield last;
}

/** The bytes of the text of a file. */
async function* bytesOf(file: string): AsyncGenerator<Buffer> {
  const { size } = await stat(file);
  if (size > MOST_FILE_BYTES)
    throw new SvcError('invalid_argument', `the file has ${size} bytes; at most ${MOST_FILE_BYTES} are allowed`);
  const source = createReadStream(file, { end: MOST_FILE_BYTES });
  const isPacked = await startsAsGzip(file);
  const stream: Readable = isPacked ? unpacked(source) : source;
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytes += chunk.length;
      if (bytes > MOST_TEXT_BYTES) throw refusedLine(1, `its text is longer than ${MOST_TEXT_BYTES} bytes`);
      yield chunk;
    }
  } catch (cause) {
    if (isPacked && isDamage(cause)) throw refusedLine(1, 'its compressed text is damaged or cut', cause);
    throw cause;
  } finally {
    source.destroy();
    stream.destroy();
  }
}

function unpacked(source: Readable): Readable {
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  return source.pipe(gunzip);
}

/** Errors of zlib have a code such as `Z_BUF_ERROR`. */
const isDamage = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && String(thrown.code).startsWith('Z_');

async function startsAsGzip(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
}
