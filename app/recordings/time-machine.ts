import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ActorDefinition } from '../../runtime/define-actor.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { JsonObject } from '../../runtime/json.ts';
import type { Recording } from '../../runtime/recording/recording.ts';
import { type ReplayReport, replayRecording } from '../../runtime/recording/replay-recording.ts';
import { productActors, TurnSettings } from '../product-actors.ts';

export { recordingText } from '../../runtime/recording/recording.ts';
export { parseRecording } from '../../runtime/recording/recording-lines.ts';
export type { ReplayReport } from '../../runtime/recording/replay-recording.ts';
export { readRecording } from './recording-file.ts';

/** The text of a recording as it is stored in files. */
export const packed = (text: string): Promise<Uint8Array> => promisify(gzip)(text);

interface ReplayWish {
  /** Id of the last message to replay. */
  readonly until?: string | undefined;
  /** Folder with another version of this product. Absent: the code that runs now. */
  readonly against?: string | undefined;
}

/** Replays a recording with the actor kinds of this version, or of the version in a folder. */
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
