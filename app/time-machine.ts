import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { ActorDefinition } from '../runtime/define-actor.ts';
import { SvcError } from '../runtime/errors.ts';
import type { JsonObject } from '../runtime/json.ts';
import { parseRecording, type Recording } from '../runtime/recording/recording.ts';
import { type ReplayReport, replayRecording } from '../runtime/recording/replay-recording.ts';
import { productActors, TurnSettings } from './product-actors.ts';

export { parseRecording, recordingText } from '../runtime/recording/recording.ts';
export type { ReplayReport } from '../runtime/recording/replay-recording.ts';

/** Largest file of a recording, and its largest text. */
const MOST_FILE_BYTES = 256 * 1024 * 1024;
const MOST_TEXT_BYTES = 480 * 1024 * 1024;

/** The text of a recording as files have it. */
export const packed = (text: string): Promise<Uint8Array> => promisify(gzip)(text);

/** Reads a recording, compressed or plain. Throws `invalid_argument` naming the line for what is none. */
export async function readRecording(file: string): Promise<Recording> {
  const { size } = await stat(file);
  if (size > MOST_FILE_BYTES)
    throw new SvcError('invalid_argument', `the file has ${size} bytes; ${MOST_FILE_BYTES} are read`);
  const parts: Uint8Array[] = [];
  for await (const part of createReadStream(file, { end: MOST_FILE_BYTES })) parts.push(part);
  return parseRecording(await textOf(Buffer.concat(parts)));
}

async function textOf(bytes: Buffer): Promise<string> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.toString('utf8');
  try {
    return (await promisify(gunzip)(bytes, { maxOutputLength: MOST_TEXT_BYTES })).toString('utf8');
  } catch (cause) {
    const isLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE';
    const why = isLarge ? `its text is longer than ${MOST_TEXT_BYTES} bytes` : 'its compressed text is damaged or cut';
    throw new SvcError('invalid_argument', `line 1: ${why}`, { cause });
  }
}

export interface ReplayWish {
  /** Id of the last message to replay. */
  readonly until?: string | undefined;
  /** Folder with another version of this product. Absent: the code that runs now. */
  readonly against?: string | undefined;
}

/** Replays a recording with the kinds of actors of this version, or of the one in a folder. */
export async function replay(recording: Recording, { until, against }: ReplayWish): Promise<ReplayReport> {
  const settings = TurnSettings.parse(recording.head.settings);
  const definitions = against === undefined ? productActors(settings) : await actorsIn(against, settings);
  try {
    return await replayRecording(recording, definitions, { until });
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new SvcError('not_found', thrown.message);
    throw thrown;
  }
}

const PLACES = ['app/product-actors.ts', 'dist/app/product-actors.js', 'app/product-actors.js'];

/** The kinds of actors of the version in a folder: a clone, or an installed package. */
async function actorsIn(folder: string, settings: JsonObject | TurnSettings): Promise<readonly ActorDefinition[]> {
  for (const place of PLACES) {
    const file = join(resolve(folder), place);
    const found = await stat(file).catch(() => null);
    if (found === null) continue;
    const loaded: unknown = await import(pathToFileURL(file).href);
    if (hasProductActors(loaded)) return loaded.productActors(settings);
  }
  throw new SvcError('not_found', `${folder} holds no version of svc that can be replayed against`);
}

const hasProductActors = (
  loaded: unknown,
): loaded is { productActors(settings: JsonObject | TurnSettings): readonly ActorDefinition[] } =>
  typeof loaded === 'object' &&
  loaded !== null &&
  'productActors' in loaded &&
  typeof loaded.productActors === 'function';
