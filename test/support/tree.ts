import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Files of the checkout that belong to the project: tracked, or new and not ignored. */
export function projectFiles(...endings: string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
  return listed
    .split('\n')
    .filter((file) => file !== '' && existsSync(file))
    .filter((file) => endings.length === 0 || endings.some((ending) => file.endsWith(ending)));
}

export const isGenerated = (file: string): boolean =>
  file.startsWith('proto/gen/') || file.startsWith('clients/typescript/gen/') || file === 'package-lock.json';

export const linesOf = (file: string): string[] => readFileSync(file, 'utf8').split('\n');

/** Relative imports of a TypeScript file, as paths from the root. */
export function importsOf(file: string): { from: string; to: string; line: number }[] {
  const found: { from: string; to: string; line: number }[] = [];
  for (const [index, text] of linesOf(file).entries()) {
    const match = /(?:from|import\()\s*'(\.{1,2}\/[^']+)'/.exec(text) ?? /^import '(\.{1,2}\/[^']+)'/.exec(text);
    if (match?.[1] === undefined) continue;
    const to = new URL(match[1], `file:///${file}`).pathname.slice(1);
    found.push({ from: file, to, line: index + 1 });
  }
  return found;
}

export const areaOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? '') : file);
