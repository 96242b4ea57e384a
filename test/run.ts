/**
 * Runs the test files, fast suites first, and ends with one plain line `N passed, N failed, N skipped`.
 *
 *   npm test                       everything
 *   npm test -- runtime contract   files whose path holds one of the words
 *
 * With CI=true a skipped test is a failure: what could not be run was not shown.
 */
import { globSync } from 'node:fs';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** Earlier folders are quicker and tell more of what is wrong. */
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

const words = process.argv.slice(2);
const rank = (file: string): number => {
  const at = ORDER.indexOf(file.split('/')[1] ?? '');
  return at === -1 ? ORDER.length : at;
};
const files = globSync('test/**/*.test.ts')
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));

const count = { passed: 0, failed: 0, skipped: 0 };
const deadline = ['--import', new URL('./deadline.ts', import.meta.url).href];
const stream = run({ files, concurrency: 2, timeout: 20 * 60_000, execArgv: deadline });
const isFile = (name: string): boolean => files.includes(name) || name.endsWith('.test.ts');
stream.on('test:pass', (test) => {
  const isSkipped = test.skip !== undefined && test.skip !== false;
  // The tests of a suite that is skipped are not known: it counts as one.
  if (isSkipped) count.skipped += 1;
  else if (test.details.type !== 'suite' && !isFile(test.name)) count.passed += 1;
});
stream.on('test:fail', (test) => {
  if (test.details.type !== 'suite' || test.details.error.cause !== undefined) count.failed += 1;
});
stream.compose(spec).pipe(process.stdout);
stream.on('end', () => {
  const skippedCounts = process.env.CI === 'true';
  if (count.skipped > 0) console.log(`SKIPPED ${count.skipped} tests: a part they need is missing on this machine.`);
  const failed = count.failed + (skippedCounts ? count.skipped : 0);
  console.log(`${count.passed} passed, ${failed} failed${skippedCounts ? '' : `, ${count.skipped} skipped`}`);
  process.exitCode = failed > 0 || count.passed === 0 ? 1 : 0;
});
