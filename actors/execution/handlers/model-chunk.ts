import { takeModelChunk } from '../chunk.ts';

/** A piece of the model's answer as it streams. */
export const ModelChunk = takeModelChunk;
