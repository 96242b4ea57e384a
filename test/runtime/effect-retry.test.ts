import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelayMs } from '../../runtime/effects/effect-runner-report.ts';
import { SvcError } from '../../runtime/errors.ts';
import { systemRandom } from '../../runtime/random.ts';

const POLICY = { maxAttempts: 5, initialDelayMs: 100, maxDelayMs: 400 };
const random = (fraction: number) => ({ ...systemRandom, fraction: () => fraction });
const down = new SvcError('unavailable');

test('delays double up to the longest, with full jitter', () => {
  const delays = [1, 2, 3, 4].map((attempt) => retryDelayMs(down, attempt, 'repeatable', POLICY, random(1)));
  assert.deepEqual(delays, [100, 200, 400, 400]);
  assert.equal(retryDelayMs(down, 3, 'repeatable', POLICY, random(0)), 0);
  assert.equal(retryDelayMs(down, 3, 'repeatable', POLICY, random(0.5)), 200);
});

test('the last attempt, a terminal error and a request without policy are not tried again', () => {
  assert.equal(retryDelayMs(down, 5, 'repeatable', POLICY, random(1)), null);
  assert.equal(retryDelayMs(new SvcError('forbidden'), 1, 'repeatable', POLICY, random(1)), null);
  assert.equal(retryDelayMs(down, 1, 'repeatable', undefined, random(1)), null);
});

test('a requested wait is respected, up to an hour', () => {
  const wait = (retryAfterMs: number) => new SvcError('rate_limited', undefined, { retryAfterMs });
  assert.equal(retryDelayMs(wait(7_000), 1, 'repeatable', POLICY, random(0)), 7_000);
  assert.equal(retryDelayMs(wait(1e12), 1, 'repeatable', POLICY, random(0)), 3_600_000);
});

test('a once effect that may have acted is not repeated', () => {
  assert.equal(retryDelayMs(new SvcError('deadline_exceeded'), 1, 'once', POLICY, random(1)), null);
  assert.notEqual(retryDelayMs(down, 1, 'once', POLICY, random(1)), null);
});
