import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SqliteRateLimits } from '../../runtime/sqlite/rate-limits.ts';
import { rateLimitsContract } from './rate-limits.ts';

const directoryOf = () => mkdtemp(join(tmpdir(), 'svc-rates-'));

rateLimitsContract('SQLite', async () => {
  const directory = await directoryOf();
  const opened: SqliteRateLimits[] = [];
  const open = async () => {
    for (const one of opened.splice(0)) await one.close();
    const limits = new SqliteRateLimits({ directory });
    opened.push(limits);
    await limits.open();
    return limits;
  };
  return {
    limits: await open(),
    another: open,
    async stop() {
      for (const one of opened) await one.close();
      await rm(directory, { recursive: true });
    },
  };
});

test('a clock that is set back a little does not fill a window twice', async (t) => {
  const directory = await directoryOf();
  t.after(() => rm(directory, { recursive: true }));
  let now = 10_000;
  const clock: Clock = { ...systemClock, now: () => now };
  const limits = new SqliteRateLimits({ directory, clock });
  await limits.open();
  t.after(() => limits.close());
  const bound = { key: 'k', limit: 1, windowMs: 1_000 };
  assert.equal((await limits.take('acme', [bound])).taken, true);
  now = 9_990;
  const refused = await limits.take('acme', [bound]);
  assert.ok(!refused.taken);
  assert.equal(refused.retryAfterMs, 1_010);
  now = 10_500;
  assert.equal((await limits.take('acme', [bound])).taken, false);
  now = 11_000;
  assert.equal((await limits.take('acme', [bound])).taken, true);
});

test('closed counters answer unavailable', async (t) => {
  const directory = await directoryOf();
  t.after(() => rm(directory, { recursive: true }));
  const limits = new SqliteRateLimits({ directory });
  await assert.rejects(
    limits.take('acme', [{ key: 'k', limit: 1, windowMs: 1_000 }]),
    (error) => error instanceof SvcError && error.code === 'unavailable',
  );
});
