import { rename, writeFile } from 'node:fs/promises';

/** Writes a file atomically: a reader that waits for it never sees it empty or half written. */
export async function writtenWhole(path: string, text: string): Promise<void> {
  const beside = `${path}.written`;
  await writeFile(beside, text);
  await rename(beside, path);
}
