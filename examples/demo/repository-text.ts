import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceFiles } from '../repo-report/source-files.ts';

const MAX_LISTED = 150;
const MAX_READ = 4;
const MAX_FILE_CHARS = 4_000;
/** Files that describe a repository best. */
const TELLING = ['README.md', 'README', 'package.json', 'pyproject.toml', 'Cargo.toml', 'go.mod'];

/** Real input for the model: names of files and the beginnings of the first ones, at most about 25 KB. */
export async function repositoryText(directory: string): Promise<string> {
  const names: string[] = [];
  for await (const { path } of sourceFiles(directory)) {
    names.push(path);
    if (names.length >= MAX_LISTED) break;
  }
  const parts = [`Files:\n${names.join('\n')}`];
  for (const name of new Set([...TELLING, ...names])) {
    if (parts.length > MAX_READ) break;
    const text = await readFile(join(directory, name), 'utf8').catch(() => null);
    if (text !== null) parts.push(`File ${name}:\n${text.slice(0, MAX_FILE_CHARS)}`);
  }
  return parts.join('\n\n');
}
