import { readFileSync } from 'node:fs';
import { importsOf, linesOf, projectFiles } from './tree.ts';

/** Folders that are quick and whose failures explain most come first; folders that are not listed come last. */
const ORDER = [
  'house',
  'manifests',
  'actors',
  'security',
  'runtime',
  'catalog',
  'effects',
  'transport',
  'contract',
  'cli',
];

/** Files that start only programs which every developer has and which end at once: git, openssl. */
const STARTS_ONLY_SMALL_TOOLS = ['test/support/tree.ts', 'test/support/certificates.ts'];

/** Seconds that files took when they were last recorded; see `npm test -- --record`. */
const DURATIONS = new URL('../durations.json', import.meta.url);

export function recordedSeconds(): Record<string, number> {
  return JSON.parse(readFileSync(DURATIONS, 'utf8'));
}

export const durationsFile = DURATIONS;

export const testFiles = (): string[] => projectFiles('.test.ts').filter((file) => file.startsWith('test/'));

/**
 * Files in the order in which they run: folder by folder. Within a folder, and among the folders that are not listed, the
 * longest file comes first, so that all processes end at about the same time.
 */
export function inOrder(files: readonly string[]): string[] {
  const seconds = recordedSeconds();
  const rank = (file: string): number => {
    const at = ORDER.indexOf(file.split('/')[1] ?? '');
    return at === -1 ? ORDER.length : at;
  };
  return files.toSorted((a, b) => rank(a) - rank(b) || (seconds[b] ?? 0) - (seconds[a] ?? 0) || a.localeCompare(b));
}

/** Files that took longer are no part of a quick run. */
const QUICK_SECONDS = 15;

/** Files that start no other program, and that did not take long when they were last recorded. */
export function quickFiles(files: readonly string[]): string[] {
  const seconds = recordedSeconds();
  return computingFiles(files).filter((file) => (seconds[file] ?? 0) < QUICK_SECONDS);
}

/** Files that start no other program (no server, container, browser or build), nor do the support files they import. */
export function computingFiles(files: readonly string[]): string[] {
  const starts = new Map<string, boolean>();
  const startsProgram = (file: string): boolean => {
    const known = starts.get(file);
    if (known !== undefined) return known;
    starts.set(file, false);
    const own = !STARTS_ONLY_SMALL_TOOLS.includes(file) && importsChildProcess(file);
    const found = own || testImports(file).some(startsProgram);
    starts.set(file, found);
    return found;
  };
  return files.filter((file) => !startsProgram(file));
}

const importsChildProcess = (file: string): boolean =>
  linesOf(file).some((line) => line.includes("'node:child_process'"));

const testImports = (file: string): string[] =>
  importsOf(file)
    .map(({ to }) => to)
    .filter((to) => to.startsWith('test/'));
