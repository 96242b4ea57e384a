import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exists, page, titlesOf } from './pages.ts';

const LEAST_ROWS = 60;

const rows = page('docs/workflow-conformance.md')
  .text.split('\n')
  .flatMap((row) => {
    const [, line = '', where = '', shown = ''] = /^\| (.+?) \| (\[.+?\]\([^)]+\)) \| (.+) \|$/.exec(row) ?? [];
    return line === '' ? [] : [{ line, where, shown }];
  });

/** Titles, and those of tables of tests, which stand there as `what: '…'`. */
function shows(file: string, title: string): boolean {
  return titlesOf(file).includes(title) || readFileSync(file, 'utf8').includes(`what: '${title}'`);
}

test('every line names a file of the code and tests by their titles', () => {
  assert.ok(rows.length >= LEAST_ROWS, `${rows.length} rows`);
  const wrong = rows.flatMap(({ line, where, shown }) => {
    const file = join('docs', /\(([^)]+)\)/.exec(where)?.[1] ?? '');
    const named = [...shown.matchAll(/\[“([^”]+)”\]\(([^)]+)\)/g)];
    const missing = named.flatMap(([, title = '', target = '']) => {
      const at = join('docs', target);
      return exists(at) && shows(at, title) ? [] : [`${line}: ${at} has no test “${title}”`];
    });
    return [
      ...missing,
      ...(exists(file) ? [] : [`${line}: no file ${file}`]),
      ...(named.length > 0 ? [] : [`${line}: no test`]),
    ];
  });
  assert.deepEqual(wrong, []);
});

test('no line is told twice', () => {
  assert.equal(new Set(rows.map(({ line }) => line)).size, rows.length);
});
