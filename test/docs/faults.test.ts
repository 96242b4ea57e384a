import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { exists, hasTitle, page } from './pages.ts';

const FAULTS = 'docs/operations/faults.md';
const TESTS = 'docs/conformance/faults.md';
const LEAST_ROWS = 45;
const MOST_WORDS = 80;
/** A reason has to say why, not that. */
const LEAST_WORDS = 20;

const rows = page(FAULTS)
  .text.split('\n')
  .flatMap((line) => {
    const [, number = '', fault = '', happens = ''] = /^\| (\d+) \| (.+?) \| (.+) \|$/.exec(line) ?? [];
    return number === '' ? [] : [{ number: Number(number), fault, happens }];
  });
const proofs = page(TESTS)
  .text.split('\n')
  .flatMap((line) => {
    const [, number = '', shown = ''] = /^\| (\d+) \| (.+) \|$/.exec(line) ?? [];
    return number === '' ? [] : [{ number: Number(number), shown }];
  });
const words = (text: string): number => text.split(/\s+/).length;

test('at least forty faults are described, numbered one by one, none twice, each in a few sentences', () => {
  assert.ok(rows.length >= LEAST_ROWS, `${rows.length} rows`);
  assert.deepEqual(
    rows.map(({ number }) => number),
    rows.map((_, index) => index + 1),
  );
  assert.equal(new Set(rows.map(({ fault }) => fault)).size, rows.length);
  assert.deepEqual(
    rows.filter(({ happens }) => words(happens) > MOST_WORDS).map(({ number }) => number),
    [],
  );
});

test('every fault has its row of tests', () => {
  assert.deepEqual(
    proofs.map(({ number }) => number),
    rows.map(({ number }) => number),
  );
});

test('every row names tests by their titles, or a reason why there is none', () => {
  const wrong = proofs.flatMap(({ number, shown }) => {
    const reason = /^reason: (.+)$/.exec(shown)?.[1];
    if (reason !== undefined)
      return words(reason) >= LEAST_WORDS ? [] : [`${number}: a reason of ${words(reason)} words`];
    const named = [...shown.matchAll(/\[“([^”]+)”\]\(([^)]+)\)/g)];
    if (named.length === 0) return [`${number}: no test and no reason`];
    return named.flatMap(([, title = '', target = '']) => {
      const file = join('docs/conformance', target);
      if (!exists(file)) return [`${number}: no file ${file}`];
      return hasTitle(file, title) ? [] : [`${number}: ${file} has no test “${title}”`];
    });
  });
  assert.deepEqual(wrong, []);
});

test('few rows have a reason instead of a test', () => {
  const reasons = proofs.filter(({ shown }) => shown.startsWith('reason: '));
  assert.ok(reasons.length <= rows.length / 10, `${reasons.length} of ${rows.length}`);
});
