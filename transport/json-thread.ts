import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { SvcError } from '../runtime/errors.ts';
import type { Json } from '../runtime/json.ts';
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
  const { maxDepth, maxValues = JSON_VALUES } = place;
  if (bytes.length <= HERE_BYTES) {
    const measure = measureJson(bytes, { maxDepth, maxValues, maxNames: JSON_NAMES });
    if (typeof measure === 'string') throw refusedJson(measure, place);
    if (measure.values <= HERE_VALUES) {
      const read = readMeasured(bytes, measure);
      if ('problem' in read) throw refusedJson(read.problem, place);
      return read.value;
    }
  }
  const answer = await thread.ask({ bytes: owned(bytes), maxDepth, maxValues, maxNames: JSON_NAMES });
  if ('problem' in answer) throw refusedJson(answer.problem, place);
  return 'value' in answer ? answer.value : JSON.parse(decoded(answer.bytes) ?? '');
}

/** The bytes in a buffer of their own, which can be transferred to the thread and back without a copy. */
const owned = (bytes: Buffer): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength
    ? new Uint8Array(bytes.buffer)
    : new Uint8Array(bytes);

interface Asked {
  readonly resolve: (answer: JsonAnswer) => void;
  readonly reject: (error: SvcError) => void;
}

/**
 * The one thread that parses large bodies of the process. It starts with the first body and keeps the process alive
 * only while it parses.
 */
class JsonThread {
  #worker: Worker | null = null;
  /** Requests to the thread, oldest first. */
  #asked: Asked[] = [];

  ask(question: JsonQuestion): Promise<JsonAnswer> {
    if (this.#asked.length >= MOST_WAITING) throw new SvcError('overloaded', undefined, { retryAfterMs: 1_000 });
    this.#worker ??= this.#start();
    this.#worker.ref();
    const { promise, resolve, reject } = Promise.withResolvers<JsonAnswer>();
    this.#asked.push({ resolve, reject });
    this.#worker.postMessage(question, [question.bytes.buffer]);
    return promise;
  }

  #start(): Worker {
    // The worker has the extension of this file, so that it is found in the sources and in the package. It gets none of
    // the node's environment variables.
    const file = new URL(`./json-worker${extname(import.meta.filename)}`, import.meta.url);
    const worker = new Worker(file, {
      ...{ env: {}, execArgv: [], stdin: false },
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    worker.on('message', (answer: JsonAnswer) => {
      this.#asked.shift()?.resolve(answer);
      if (this.#asked.length === 0) worker.unref();
    });
    const gone = (cause?: unknown): void => {
      if (this.#worker !== worker) return;
      this.#worker = null;
      const asked = this.#asked;
      this.#asked = [];
      for (const { reject } of asked) reject(new SvcError('unavailable', 'The body could not be read.', { cause }));
    };
    worker.on('error', gone);
    worker.on('exit', () => gone());
    return worker;
  }
}

const thread = new JsonThread();
