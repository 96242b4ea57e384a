import { rename, writeFile } from 'node:fs/promises';

/** Writes a file that appears with its text: who waits for it never reads it empty or half written. */
export async function writtenWhole(path: string, text: string): Promise<void> {
  const beside = `${path}.written`;
  await writeFile(beside, text);
  await rename(beside, path);
}
