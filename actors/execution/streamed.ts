import { createHash } from 'node:crypto';
import { z } from 'zod';
import { LIMITS } from './limits.ts';

const SEGMENT_CHARS = 4096;

/**
 * The streamed part of one iteration's output (W24), without the text: full segments of 4,096 characters are stored as hashes,
 * only the last, partial one as text.
 */
export const StreamedText = z.object({
  segments: z.array(z.string()),
  tail: z.string(),
  /** Attempt that sent the last chunk. */
  attempt: z.number().int(),
  /**
   * Set while a repeated attempt is compared with the sent text: the number of segments that matched, and the text after them.
   */
  replay: z.object({ matched: z.number().int(), text: z.string() }).nullable(),
  /** No more chunks of this attempt are sent: it differs from the sent text, or the stream has reached its limit. */
  closed: z.boolean(),
  /** Characters of earlier rounds of the same iteration; absent: none. */
  earlier: z.number().int().optional(),
});
export type StreamedText = z.infer<typeof StreamedText>;

export const nothingStreamed: StreamedText = { segments: [], tail: '', attempt: 0, replay: null, closed: false };

/** The iteration's effect runs again under a new id: the next chunk begins a new attempt. */
export function expectRepeat(streamed: StreamedText): StreamedText {
  return { ...streamed, attempt: 0, replay: null, closed: false };
}

/** The next round of the same iteration: its text follows the sent text. */
export function nextRound(streamed: StreamedText): StreamedText {
  return { ...nothingStreamed, earlier: lengthOf(streamed) };
}

const lengthOf = ({ segments, tail, earlier = 0 }: StreamedText): number =>
  earlier + segments.length * SEGMENT_CHARS + tail.length;

/** Takes a chunk of an attempt; returns the text to send (empty: none) and the new record. */
export function takeChunk(
  before: StreamedText,
  attempt: number,
  chunk: string,
): { readonly streamed: StreamedText; readonly send: string } {
  if (attempt < before.attempt || chunk === '') return { streamed: before, send: '' };
  const streamed = attempt > before.attempt ? startAttempt(before, attempt) : before;
  if (streamed.closed) return { streamed, send: '' };
  return streamed.replay === null ? append(streamed, chunk) : compare(streamed, streamed.replay, chunk);
}

function startAttempt(before: StreamedText, attempt: number): StreamedText {
  const sentAny = before.segments.length > 0 || before.tail !== '';
  return { ...before, attempt, closed: false, replay: sentAny ? { matched: 0, text: '' } : null };
}

function compare(
  streamed: StreamedText,
  replay: { readonly matched: number; readonly text: string },
  chunk: string,
): { streamed: StreamedText; send: string } {
  let { matched } = replay;
  let text = replay.text + chunk;
  const differs = { streamed: { ...streamed, replay: null, closed: true }, send: '' };
  while (matched < streamed.segments.length && text.length >= SEGMENT_CHARS) {
    if (hash(text.slice(0, SEGMENT_CHARS)) !== streamed.segments[matched]) return differs;
    matched += 1;
    text = text.slice(SEGMENT_CHARS);
  }
  if (matched < streamed.segments.length) return { streamed: { ...streamed, replay: { matched, text } }, send: '' };
  if (text.length < streamed.tail.length) {
    if (!streamed.tail.startsWith(text)) return differs;
    return { streamed: { ...streamed, replay: { matched, text } }, send: '' };
  }
  if (!text.startsWith(streamed.tail)) return differs;
  return append({ ...streamed, replay: null }, text.slice(streamed.tail.length));
}

function append(streamed: StreamedText, chunk: string): { streamed: StreamedText; send: string } {
  if (lengthOf(streamed) + chunk.length > LIMITS.streamedChars)
    return { streamed: { ...streamed, closed: true }, send: '' };
  const segments = [...streamed.segments];
  let tail = streamed.tail + chunk;
  while (tail.length >= SEGMENT_CHARS) {
    segments.push(hash(tail.slice(0, SEGMENT_CHARS)));
    tail = tail.slice(SEGMENT_CHARS);
  }
  return { streamed: { ...streamed, segments, tail }, send: chunk };
}

/**
 * 96 bits of the hash: a collision would only hide a difference from the sent text. Hashed as UTF-16, so that half of a
 * surrogate pair counts too.
 */
function hash(segment: string): string {
  return createHash('sha256').update(segment, 'utf16le').digest('base64url').slice(0, 16);
}
