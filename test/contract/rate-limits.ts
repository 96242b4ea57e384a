import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { SvcError } from '../../runtime/errors.ts';
import type { RateLimit, RateLimits } from '../../runtime/rate-limits.ts';
import { waitUntil } from '../support/wait-until.ts';

interface RateLimitsUnderTest {
  readonly limits: RateLimits;
  /** Over the same counters: another node's, or the same after a restart; the last test may use it. */
  another(): Promise<RateLimits>;
  stop(): Promise<void>;
}

const MONTH_MS = 2_592_000_000;
const SHORT_MS = 300;
const bound = (limit: number, windowMs = MONTH_MS, key: string = randomUUID()): RateLimit => ({ key, limit, windowMs });
const taken = { taken: true } as const;

/** The promises of every adapter of RateLimits. */
export function rateLimitsContract(
  name: string,
  make: () => Promise<RateLimitsUnderTest>,
  options: { readonly skip?: string | false } = {},
): void {
  describe(`rate limits on ${name}`, { skip: options.skip ?? false, timeout: 300_000 }, () => {
    let setup: RateLimitsUnderTest | undefined;
    const limits = (): RateLimits => {
      if (setup === undefined) throw new Error('the counters were not started');
      return setup.limits;
    };
    before(async () => {
      setup = await make();
    });
    after(async () => {
      await setup?.stop();
    });

    test('a window holds its limit and not one more, however many ask at once', async () => {
      const one = bound(50);
      const outcomes = await Promise.all(Array.from({ length: 200 }, () => limits().take('acme', [one])));
      assert.equal(outcomes.filter((outcome) => outcome.taken).length, 50);
    });

    test('a request takes its number of units; a smaller one may still fit where a larger one does not', async () => {
      const one = bound(100);
      assert.deepEqual(await limits().take('acme', [one], 99), taken);
      assert.equal((await limits().take('acme', [one], 2)).taken, false);
      assert.deepEqual(await limits().take('acme', [one], 1), taken);
      assert.equal((await limits().take('acme', [one], 1)).taken, false);
      assert.deepEqual(await limits().take('acme', [one], 0), taken);
    });

    test('all bounds are taken or none: a refusal leaves the others as they were', async () => {
      const [wide, narrow] = [bound(1_000), bound(3)];
      for (let n = 0; n < 3; n += 1) assert.deepEqual(await limits().take('acme', [wide, narrow]), taken);
      for (let n = 0; n < 20; n += 1) {
        const refused = await limits().take('acme', [wide, narrow]);
        assert.ok(!refused.taken);
        assert.deepEqual(refused.broken, narrow);
      }
      assert.deepEqual(await limits().take('acme', [wide], 997), taken);
      assert.equal((await limits().take('acme', [wide], 1)).taken, false);
    });

    test('the used units can be read, with the end of the window, and reading takes none', async () => {
      const key = randomUUID();
      const [minute, month] = [bound(9, 60_000, key), bound(9, MONTH_MS, key)];
      const before = Date.now();
      assert.deepEqual(
        (await limits().read('acme', [minute, month])).map(({ used }) => used),
        [0, 0],
      );
      await limits().take('acme', [month], 2);
      await limits().take('acme', [month], 3);
      for (let n = 0; n < 3; n += 1) {
        const [short, long] = await limits().read('acme', [minute, month]);
        assert.deepEqual([short?.used, long?.used], [0, 5]);
        for (const [count, windowMs] of [[short, 60_000] as const, [long, MONTH_MS] as const]) {
          const resetsAt = count?.resetsAt ?? 0;
          assert.equal(resetsAt % windowMs, 0);
          assert.ok(resetsAt > before && resetsAt <= Date.now() + windowMs);
        }
      }
      const many = Array.from({ length: 20 }, (_one, n) => limits().read(`tenant ${n % 3}`, [minute, month]));
      assert.ok((await Promise.all(many)).every((counts) => counts.every(({ used }) => used === 0)));
      assert.deepEqual(await limits().read('acme', []), []);
    });

    test('when several limits refuse, the one that opens last is named', async () => {
      const key = randomUUID();
      const minute = bound(1, 60_000, key);
      const month = bound(1, MONTH_MS, key);
      assert.deepEqual(await limits().take('acme', [minute, month]), taken);
      for (const asked of [
        [minute, month],
        [month, minute],
      ]) {
        const refused = await limits().take('acme', asked);
        assert.ok(!refused.taken);
        assert.deepEqual(refused.broken, month);
        assert.ok(refused.retryAfterMs > 0 && refused.retryAfterMs <= MONTH_MS);
      }
    });

    test('a window rolls: after retryAfterMs the limit is available again, and only once', async () => {
      const one = bound(4, SHORT_MS);
      for (let round = 0; round < 3; round += 1) {
        let before = 0;
        const refused = await waitUntil('the window is full', async () => {
          // Without a pause between them: a window must not end before it is full.
          for (let n = 0; n <= one.limit; n += 1) {
            // Measured before the call, since its answer is on the way for some of the time that it names.
            before = performance.now();
            const outcome = await limits().take('acme', [one]);
            if (!outcome.taken) return outcome;
          }
          return null;
        });
        assert.ok(refused.retryAfterMs > 0 && refused.retryAfterMs <= SHORT_MS, `${refused.retryAfterMs} ms`);
        await waitUntil('the window opens', async () => (await limits().take('acme', [one])).taken);
        const waited = performance.now() - before;
        assert.ok(waited >= refused.retryAfterMs - 5, `it opened after ${waited} ms, not ${refused.retryAfterMs}`);
        assert.ok(waited <= refused.retryAfterMs + 10_000, `it opened after ${waited} ms, not ${refused.retryAfterMs}`);
      }
    });

    test('tenants, keys and window lengths are counted apart, whatever they are called', async () => {
      const key = randomUUID();
      const names = ['acme', 'Acme', 'a}b', 'a{b', '{a}', 'a:60000', 'ü', 'a b'];
      for (const tenant of names) {
        for (const each of [key, `${key}:1`, `${key} é}{`]) {
          assert.deepEqual(await limits().take(tenant, [bound(1, MONTH_MS, each)]), taken, `${tenant} ${each}`);
          assert.deepEqual(await limits().take(tenant, [bound(1, MONTH_MS + 1, each)]), taken, `${tenant} ${each}`);
          assert.equal((await limits().take(tenant, [bound(1, MONTH_MS, each)])).taken, false, `${tenant} ${each}`);
        }
      }
    });

    test('a limit of 0 admits nothing, no bound admits everything', async () => {
      assert.equal((await limits().take('acme', [bound(0)])).taken, false);
      assert.deepEqual(await limits().take('acme', []), taken);
    });

    test('a changed limit counts the units that were taken before', async () => {
      const key = randomUUID();
      assert.deepEqual(await limits().take('acme', [bound(10, MONTH_MS, key)], 5), taken);
      assert.equal((await limits().take('acme', [bound(5, MONTH_MS, key)])).taken, false);
      assert.deepEqual(await limits().take('acme', [bound(6, MONTH_MS, key)]), taken);
    });

    test('invalid requests are refused by name before anything is counted', async () => {
      const good = bound(1);
      const wrong: [string, string, RateLimit[], number][] = [
        ['tenant', '', [good], 1],
        ['units', 'acme', [good], -1],
        ['units', 'acme', [good], 0.5],
        ['units', 'acme', [good], Number.NaN],
        ['limits', 'acme', Array.from({ length: 65 }, () => good), 1],
        ['limits.key', 'acme', [good, bound(1, MONTH_MS, '')], 1],
        ['limits.key', 'acme', [good, bound(1, MONTH_MS, 'x'.repeat(513))], 1],
        ['limits.limit', 'acme', [good, bound(-1)], 1],
        ['limits.windowMs', 'acme', [good, bound(1, 0)], 1],
        ['limits.windowMs', 'acme', [good, bound(1, 1.5)], 1],
      ];
      for (const [field, tenant, asked, units] of wrong) {
        await assert.rejects(
          limits().take(tenant, asked, units),
          (error) => error instanceof SvcError && error.code === 'invalid_argument' && error.field === field,
          field,
        );
      }
      assert.deepEqual(await limits().take('acme', [good]), taken);
    });

    test('counts are those of all nodes and outlive a restart', async () => {
      const one = bound(2);
      assert.deepEqual(await limits().take('acme', [one]), taken);
      const other = await setup?.another();
      assert.ok(other !== undefined);
      assert.deepEqual(await other.take('acme', [one]), taken);
      assert.equal((await other.take('acme', [one])).taken, false);
    });
  });
}
