import { takeProgress } from '../chunk.ts';

/** A piece of the program's stdout as it streams. */
export const ProgramChunk = takeProgress;
