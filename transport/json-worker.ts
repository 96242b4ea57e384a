import { parentPort } from 'node:worker_threads';
import type { Json } from '../runtime/json.ts';
import { type JsonProblem, measureJson, readMeasured } from './json-measure.ts';

/** What the thread of requests asks: are these bytes JSON within the bounds? The bytes are handed over. */
export interface JsonQuestion {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly maxDepth: number;
  readonly maxValues: number;
  readonly maxNames: number;
}

/** `bytes`: checked, and cheaper to parse again than to hand over. */
export type JsonAnswer =
  | { readonly problem: JsonProblem }
  | { readonly value: Json }
  | { readonly bytes: Uint8Array<ArrayBuffer> };

/**
 * Measured: the asking thread takes 1.2 µs for each name of a value that is handed over and 0.8 µs to parse it from text,
 * but 6 ns for each escape in text and nothing for one that was handed over.
 */
const ESCAPES_PER_NAME = 60;
const BACKSLASH = 0x5c;

function answerTo({ bytes, ...bounds }: JsonQuestion): JsonAnswer {
  const measure = measureJson(bytes, bounds);
  if (typeof measure === 'string') return { problem: measure };
  const read = readMeasured(bytes, measure);
  return 'problem' in read || hasEscapes(bytes, measure.names * ESCAPES_PER_NAME) ? read : { bytes };
}

/** Whether there are more than `most`. */
function hasEscapes(bytes: Uint8Array, most: number): boolean {
  let count = 0;
  for (let at = bytes.indexOf(BACKSLASH); at !== -1; at = bytes.indexOf(BACKSLASH, at + 2)) {
    count += 1;
    if (count > most) return true;
  }
  return false;
}

parentPort?.on('message', (question: JsonQuestion) => {
  const answer = answerTo(question);
  parentPort?.postMessage(answer, 'bytes' in answer ? [answer.bytes.buffer] : []);
});
