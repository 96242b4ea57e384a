import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exists, hasTitle, page } from './pages.ts';

/** One line of the specification on a page of conformance. */
interface ConformanceRow {
  readonly line: string;
  /** Link to the file of the code. */
  readonly where: string;
  /** Links to tests by their titles. */
  readonly shown: string;
}

export const rowsOf = (file: string): ConformanceRow[] =>
  page(file)
    .text.split('\n')
    .flatMap((row) => {
      const [, line = '', where = '', shown = ''] = /^\| (.+?) \| (\[.+?\]\([^)]+\)) \| (.+) \|$/.exec(row) ?? [];
      return line === '' ? [] : [{ line, where, shown }];
    });

/** Titles, and those of tables of tests, which stand there as `what: '…'`. */
export function shows(file: string, title: string): boolean {
  return hasTitle(file, title) || readFileSync(file, 'utf8').includes(`what: '${title}'`);
}

/** Names in a row that do not exist; a row without a test is wrong too. */
export function wrongIn({ line, where, shown }: ConformanceRow): string[] {
  const file = join('docs/conformance', /\(([^)]+)\)/.exec(where)?.[1] ?? '');
  const named = [...shown.matchAll(/\[“([^”]+)”\]\(([^)]+)\)/g)];
  const missing = named.flatMap(([, title = '', target = '']) => {
    const at = join('docs/conformance', target);
    return exists(at) && shows(at, title) ? [] : [`${line}: ${at} has no test “${title}”`];
  });
  return [
    ...missing,
    ...(exists(file) ? [] : [`${line}: no file ${file}`]),
    ...(named.length > 0 ? [] : [`${line}: no test`]),
  ];
}
