import { readFile } from 'node:fs/promises';
import type { Work } from './peer.ts';

/** Counts from the trail that the steps wrote. */
export interface Trail {
  /** Steps that were begun again. */
  readonly again: number;
  /** Steps that began twice with the same attempt number; null where a peer does not number attempts. */
  readonly silent: number | null;
  /** Steps that never began. */
  readonly lost: number;
}

export async function readTrail(path: string, { runs, steps }: Work): Promise<Trail> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  const begun = new Set(lines.map((line) => line.slice(0, line.lastIndexOf(' '))));
  const numbered = lines.every((line) => !line.endsWith(' -'));
  return {
    again: lines.length - begun.size,
    silent: numbered ? lines.length - new Set(lines).size : null,
    lost: runs * steps - begun.size,
  };
}

export async function stepsBegun(path: string): Promise<number> {
  return (await readFile(path, 'utf8')).split('\n').length - 1;
}
