import { takeProgramChunk } from '../chunk.ts';

/** A piece of the program's stdout as it streams, or the id of the agent's container. */
export const ProgramChunk = takeProgramChunk;
