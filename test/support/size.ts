import { randomInt } from 'node:crypto';
import { test } from 'node:test';

/**
 * Chooses how much of a repetitive test runs: seeds, rounds, kills, cases.
 *
 *   npm test -- --quick   what needs no other program, smallest sizes
 *   npm test              every test, at a size that is a meaningful sample
 *   npm run test:long     every test at full size
 */
type TestSize = 'quick' | 'normal' | 'long';

const given = process.env.SVC_TEST_SIZE;

/** A file that is run alone, with `node --test`, runs at the normal size. */
const testSize: TestSize = given === 'quick' || given === 'long' ? given : 'normal';

/** The size to run: `sample({ quick: 5, normal: 20, long: 200 })`. Without `quick`, quick runs are of normal size. */
export function sample<T>(sizes: { readonly quick?: T; readonly normal: T; readonly long: T }): T {
  if (testSize === 'quick') return sizes.quick ?? sizes.normal;
  return sizes[testSize];
}

/**
 * Of rows that are alike each `nth`, from a random one on, so that every run takes others; all of them in a long run.
 * Each row that fails says its name.
 */
export function someOf<T>(rows: readonly T[], nth: number): readonly T[] {
  if (testSize === 'long') return rows;
  const first = randomInt(nth);
  return rows.filter((_row, at) => at % nth === first);
}

/**
 * `test` for what another adapter is shown to do as well: of its tests each `nth` runs, from a random one on, so that every
 * run takes others; all of them in a long run.
 */
export function eachNth(nth: number): (title: string, run: () => Promise<void> | void) => void {
  if (testSize === 'long') return (title, run) => void test(title, run);
  const first = randomInt(nth);
  let at = -1;
  return (title, run) => {
    at += 1;
    if (at % nth === first) test(title, run);
  };
}
