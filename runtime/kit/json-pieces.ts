import { hasMoreChars } from '../json.ts';
import { turnsFirst } from './waits.ts';

/** Larger values are written piece by piece; longer texts are cut. */
const PIECE_CHARS = 128 * 1024;
/** Most pieces that are written in one turn of the event loop. */
const PIECES_AT_ONCE = 2_000;

/** How the pieces of a value are written. */
export interface PieceRules {
  /** Writes a value that is not large, in one piece. */
  readonly whole: (value: unknown) => string;
  /** The names of an object in the order in which they are written; null: the object is written in one piece. */
  readonly names: (value: object) => readonly string[] | null;
  /** A text as it is written. */
  readonly text: (value: string) => string;
}

/** As `JSON.stringify` writes plain values. */
const PLAIN: PieceRules = {
  whole: (value) => JSON.stringify(value) ?? 'null',
  names: Object.keys,
  text: (value) => value,
};

/** Returns the JSON text of a plain value in pieces, so that a large value takes little time for each piece. */
export function* jsonPieces(value: unknown, rules: PieceRules = PLAIN): Generator<string, void> {
  if (typeof value === 'string') yield* textPieces(rules.text(value));
  else if (typeof value !== 'object' || value === null || !hasMoreChars(value, PIECE_CHARS)) yield rules.whole(value);
  else if (Array.isArray(value)) yield* listPieces(value, rules);
  else yield* objectPieces(value, rules);
}

function* textPieces(text: string): Generator<string, void> {
  if (text.length <= PIECE_CHARS) return yield JSON.stringify(text);
  yield '"';
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + PIECE_CHARS);
    // Both halves of a pair are in the same piece.
    if (end < text.length && isHighHalf(text.charCodeAt(end - 1))) end -= 1;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

const isHighHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

function* listPieces(list: readonly unknown[], rules: PieceRules): Generator<string, void> {
  for (const [index, inner] of list.entries()) {
    yield index === 0 ? '[' : ',';
    yield* jsonPieces(inner, rules);
  }
  yield list.length === 0 ? '[]' : ']';
}

function* objectPieces(object: object, rules: PieceRules): Generator<string, void> {
  const names = rules.names(object);
  if (names === null) return yield rules.whole(object);
  let isFirst = true;
  for (const name of names) {
    const inner: unknown = Reflect.get(object, name);
    if (inner === undefined) continue;
    yield `${isFirst ? '{' : ','}${JSON.stringify(name)}:`;
    isFirst = false;
    yield* jsonPieces(inner, rules);
  }
  yield isFirst ? '{}' : '}';
}

/** Takes the pieces of a value in parts, each in its own turn of the event loop. */
export async function inTurns(pieces: Iterable<string>, take: (part: string) => void): Promise<void> {
  let part: string[] = [];
  let chars = 0;
  for (const piece of pieces) {
    part.push(piece);
    chars += piece.length;
    if (chars < PIECE_CHARS && part.length < PIECES_AT_ONCE) continue;
    take(part.join(''));
    [part, chars] = [[], 0];
    await turnsFirst();
  }
  take(part.join(''));
}

/** `JSON.stringify` of a plain value that may be large, in turns of the event loop. */
export async function jsonInTurns(value: unknown): Promise<string> {
  const parts: string[] = [];
  await inTurns(jsonPieces(value), (part) => parts.push(part));
  return parts.join('');
}
