import { crc32 } from 'node:zlib';
import type { JsonTexts } from './codec.ts';
import type { Decision } from './turn.ts';

/** The parts of a turn that replay compares: the state after it, and its decisions. */
export const TURN_PARTS = ['state', 'events', 'effects', 'messages', 'timers'] as const;
export type TurnPart = (typeof TURN_PARTS)[number];

const LETTERS: Readonly<Record<TurnPart, string>> = {
  state: 'S',
  events: 'E',
  effects: 'F',
  messages: 'M',
  timers: 'T',
};

/** The state changed, and its checksum was not computed: it is large, and a later turn of the same batch changed it. */
export const NOT_SUMMED = '-';

/** Largest encoded state, in characters, of which each turn of a batch gets a checksum. */
export const MOST_SUMMED_CHARS = 16_384;

/**
 * What one turn decided, as text for its row: for each part that is not empty a letter and a checksum of its JSON. A
 * checksum costs some microseconds and 8 bytes, so replay finds the first message whose turn came out differently,
 * although the ledger keeps no states. The order of members counts, because sorting them would cost more than encoding.
 */
export function decisionDigest(decision: Decision, texts: JsonTexts): string {
  const { events, sends, reply, effects, effectsCancelled, timersSet, timersCleared } = decision;
  let text = '';
  if (events.length > 0) text += part('events', sumOf(eventsText(events, texts)));
  if (effects.length + effectsCancelled.length > 0) {
    const asked = effects.map(({ id, request }) => `{"id":${JSON.stringify(id)},"request":${texts.of(request)}}`);
    text += part('effects', sumOf(`[[${asked.join(',')}],${JSON.stringify(effectsCancelled)}]`));
  }
  if (sends.length > 0 || reply !== null) text += part('messages', checksum([sends, reply]));
  if (timersSet.length + timersCleared.length > 0) {
    const set = timersSet.map(
      ({ name, afterMs, message }) =>
        `{"name":${JSON.stringify(name)},"afterMs":${afterMs},"message":${texts.of(message)}}`,
    );
    text += part('timers', sumOf(`[[${set.join(',')}],${JSON.stringify(timersCleared)}]`));
  }
  return text;
}

/** The text that `JSON.stringify` makes of the events. */
function eventsText(events: Decision['events'], texts: JsonTexts): string {
  const parts: string[] = [];
  for (const { name, payload } of events) {
    if (typeof payload !== 'object' || payload === null) return JSON.stringify(events);
    parts.push(`{"name":${JSON.stringify(name)},"payload":${texts.of(payload)}}`);
  }
  return `[${parts.join(',')}]`;
}

const part = (name: TurnPart, sum: string): string => LETTERS[name] + sum;

const checksum = (value: unknown): string => sumOf(JSON.stringify(value));

/** A call out of JavaScript takes longer than a sum of this many characters. */
const SHORT_CHARS = 40;

const sumOf = (text: string): string => base36(text.length > SHORT_CHARS ? crc32(text) : shortSum(text));

/** What a byte does to the sum before it. */
const CRC_OF_BYTE = Int32Array.from({ length: 256 }, (_, byte) => ~crc32(new Uint8Array([byte ^ 255])) ^ 0xffffff);

/** The CRC-32 of a short text. */
function shortSum(text: string): number {
  let sum = -1;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 127) return crc32(text);
    sum = (CRC_OF_BYTE[(sum ^ code) & 255] ?? 0) ^ (sum >>> 8);
  }
  return ~sum >>> 0;
}

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz';
const PAIRS = [...DIGITS].flatMap((first) => [...DIGITS].map((second) => first + second));

/** A whole number as `toString(36)` writes it, in a fifth of the time. */
export function base36(value: number): string {
  let text = '';
  let rest = value;
  while (rest >= PAIRS.length) {
    const more = Math.floor(rest / PAIRS.length);
    text = `${PAIRS[rest - more * PAIRS.length]}${text}`;
    rest = more;
  }
  return `${rest < DIGITS.length ? DIGITS[rest] : PAIRS[rest]}${text}`;
}

/** The part of a state. `text` is its JSON; null: it is not summed. */
export const stateDigest = (text: string | null): string => part('state', text === null ? NOT_SUMMED : sumOf(text));

/** The checksums in a digest. A part that is absent was empty, and an absent state had not changed. */
export function partsOf(digest: string): Partial<Record<TurnPart, string>> {
  const sums: Partial<Record<TurnPart, string>> = {};
  for (const name of TURN_PARTS) {
    const found = new RegExp(`${LETTERS[name]}([0-9a-z]+|-)`).exec(digest);
    if (found?.[1] !== undefined) sums[name] = found[1];
  }
  return sums;
}

/**
 * The events of a turn, as the beginning of the events that follow its state: as many as match the checksum in its digest.
 * Without a digest, the events of the same time.
 */
export function eventsIn<E extends { readonly name: string; readonly at: number; readonly payload: unknown }>(
  digest: string | undefined,
  following: readonly E[],
  now: number | undefined,
): readonly E[] {
  const sameTime = following.slice(0, MOST_OF_TURN).filter(({ at }) => at === now);
  const sum = digest === undefined ? undefined : partsOf(digest).events;
  if (digest === undefined) return sameTime;
  if (sum === undefined) return [];
  const events: { name: string; payload: unknown }[] = [];
  for (const { name, payload } of sameTime) {
    events.push({ name, payload });
    if (checksum(events) === sum) return sameTime.slice(0, events.length);
  }
  return sameTime;
}

const MOST_OF_TURN = 200;
