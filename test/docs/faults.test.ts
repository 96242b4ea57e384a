import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { exists, page, titlesOf } from './pages.ts';

const LEAST_ROWS = 45;
/** A reason has to say why, not that. */
const LEAST_WORDS = 20;

interface Row {
  readonly number: number;
  readonly fault: string;
  readonly happens: string;
  readonly shown: string;
}

const rows = page('docs/operations/faults.md')
  .text.split('\n')
  .flatMap((line): Row[] => {
    const [, number = '', fault = '', happens = '', shown = ''] =
      /^\| (\d+) \| (.+) \| (.+) \| (.+) \|$/.exec(line) ?? [];
    return number === '' ? [] : [{ number: Number(number), fault, happens, shown }];
  });

test('at least forty faults are told, numbered one by one, none twice', () => {
  assert.ok(rows.length >= LEAST_ROWS, `${rows.length} rows`);
  assert.deepEqual(
    rows.map(({ number }) => number),
    rows.map((_, index) => index + 1),
  );
  assert.equal(new Set(rows.map(({ fault }) => fault)).size, rows.length);
});

test('every fault names tests by their titles, or a reason why there is none', () => {
  const wrong = rows.flatMap(({ number, fault, shown }) => {
    const reason = /^reason: (.+)$/.exec(shown)?.[1];
    if (reason !== undefined) {
      const words = reason.split(/\s+/).length;
      return words >= LEAST_WORDS ? [] : [`${number} ${fault}: a reason of ${words} words`];
    }
    const named = [...shown.matchAll(/\[“([^”]+)”\]\(([^)]+)\)/g)];
    if (named.length === 0) return [`${number} ${fault}: no test and no reason`];
    return named.flatMap(([, title = '', target = '']) => {
      const file = join('docs/operations', target);
      if (!exists(file)) return [`${number} ${fault}: no file ${file}`];
      return titlesOf(file).includes(title) ? [] : [`${number} ${fault}: ${file} has no test “${title}”`];
    });
  });
  assert.deepEqual(wrong, []);
});

test('reasons are few', () => {
  const reasons = rows.filter(({ shown }) => shown.startsWith('reason: '));
  assert.ok(reasons.length <= rows.length / 10, `${reasons.length} of ${rows.length}`);
});
