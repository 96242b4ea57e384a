import { setImmediate } from 'node:timers/promises';
import type { Json } from '../runtime/json.ts';
import { WorkerThread } from '../runtime/kit/worker-thread.ts';
import {
  decoded,
  JSON_NAMES,
  JSON_VALUES,
  type JsonPlace,
  measureJson,
  readMeasured,
  refusedJson,
} from './json-measure.ts';
import type { JsonAnswer, JsonQuestion } from './json-worker.ts';

/**
 * Bodies above this size, and bodies with many values, are parsed on a thread, because they would block every other
 * call.
 */
const HERE_BYTES = 1024 * 1024;
const HERE_VALUES = 10_000;
/** Most bodies that wait for the thread; each may have the largest allowed size. */
const MOST_WAITING = 32;
const MAX_HEAP_MB = 512;

/**
 * Like `parseJson`, for the bytes of a body. The caller must not use the bytes afterwards. Also throws `overloaded`.
 */
export async function parseJsonBytes(bytes: Buffer, place: JsonPlace): Promise<Json> {
  const bounds = { maxDepth: place.maxDepth, maxValues: JSON_VALUES, maxNames: JSON_NAMES };
  if (bytes.length <= HERE_BYTES) {
    const measure = measureJson(bytes, bounds);
    if (typeof measure === 'string') throw refusedJson(measure, place);
    if (measure.values <= HERE_VALUES) {
      const read = readMeasured(bytes, measure);
      if ('problem' in read) throw refusedJson(read.problem, place);
      return read.value;
    }
  }
  const own = owned(bytes);
  const answer = await thread.ask({ bytes: own, ...bounds }, [own.buffer]);
  if ('problem' in answer) throw refusedJson(answer.problem, place);
  if ('value' in answer) return afterTurn(answer.value);
  await setImmediate();
  const text = decoded(answer.bytes) ?? '';
  await setImmediate();
  const value: Json = JSON.parse(text);
  return afterTurn(value);
}

/** Gives the user of a large value its own turn of the event loop, because receiving or parsing the value took one. */
async function afterTurn(value: Json): Promise<Json> {
  await setImmediate();
  return value;
}

/** The bytes in a buffer of their own, which can be transferred to the thread and back without a copy. */
const owned = (bytes: Buffer): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength
    ? new Uint8Array(bytes.buffer)
    : new Uint8Array(bytes);

/** The one thread that parses large bodies of the process. */
const thread = new WorkerThread<JsonQuestion, JsonAnswer>({
  from: import.meta,
  module: 'json-worker',
  mostWaiting: MOST_WAITING,
  maxHeapMb: MAX_HEAP_MB,
  lost: 'The body could not be read.',
});
