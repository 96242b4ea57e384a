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

/** Larger bodies, and those of more values, are read on a thread of their own: they would hold up every other call. */
const HERE_BYTES = 1024 * 1024;
const HERE_VALUES = 10_000;
/** Bodies that wait for the thread; each may be as large as a body may be. */
const MOST_WAITING = 32;
const MAX_HEAP_MB = 512;

/** As `parseJson`, for the bytes of a body, which must not be used afterwards. Throws `overloaded` too. */
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

/** In memory of its own, which can be handed to the thread and back without a copy. */
const owned = (bytes: Buffer): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.buffer.byteLength === bytes.byteLength
    ? new Uint8Array(bytes.buffer)
    : new Uint8Array(bytes);

interface Asked {
  readonly resolve: (answer: JsonAnswer) => void;
  readonly reject: (error: SvcError) => void;
}

/** One thread for all bodies of the process, begun with the first; it keeps the process alive only while it reads. */
class JsonThread {
  #worker: Worker | null = null;
  /** Oldest first. */
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
    // As this file is named: from sources as from the package. It sees nothing of the node's environment.
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
