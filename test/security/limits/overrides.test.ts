import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { NodeRateLimits } from '../../../manifests/node/rate-limits.ts';
import type { Documents } from '../../../runtime/documents.ts';
import { SqliteRateLimits } from '../../../runtime/sqlite/rate-limits.ts';
import type { Principal } from '../../../security/api.ts';
import { createTierLimits } from '../../../security/rate-bounds.ts';
import { createRateUsage, openRateOverrides } from '../../../security/rate-overrides.ts';
import { DOCUMENT_STORES } from '../../catalog/document-stores.ts';
import { clockThatStands } from '../../support/hand-clock.ts';
import { refused } from '../../support/refused.ts';
import { ManualClock } from '../identity-provider.ts';

const user = (more: Partial<Principal> = {}): Principal => ({
  ...{ kind: 'tenant_user', subject: 'ada', tenant: 'acme', tier: 'free' },
  ...more,
});
const olga = { subject: 'olga' };
const page = { limit: 100, skip: 0 };
const minute = (limit: number | null) => ({ agent_executions: { minute: limit } });

for (const { name, skip, open } of DOCUMENT_STORES) {
  describe(`rates set at run time on ${name}`, { skip }, () => {
    let documents: Documents;
    let stop: () => Promise<void>;
    let limits: SqliteRateLimits;
    const counting = clockThatStands();
    let directory: string;
    before(async () => {
      ({ documents, stop } = await open());
      directory = await mkdtemp(join(tmpdir(), 'svc-rates-'));
      limits = new SqliteRateLimits({ directory, clock: counting });
      await limits.open();
    });
    after(async () => {
      await limits.close();
      await rm(directory, { recursive: true });
      await stop();
    });

    async function node(settings: unknown = {}, clock = new ManualClock()) {
      const audited: Readonly<Record<string, string | null>>[] = [];
      const overrides = await openRateOverrides({ documents, clock, audit: (event) => void audited.push(event) });
      const parsed = NodeRateLimits.parse(settings);
      const tiers = createTierLimits({ limits, settings: parsed, overrides });
      const usage = createRateUsage({ limits, settings: parsed, overrides, running: { count: async () => 1 } });
      const bound = async (principal: Principal, bucket = 'agent_executions'): Promise<number | null> => {
        const { buckets } = await usage.of(principal);
        return buckets.find((one) => one.name === bucket && one.window === 'minute')?.limit ?? null;
      };
      return { overrides, tiers, usage, bound, clock, audited };
    }

    test('a user’s rate has priority over its tenant’s, that over the tier’s, and each over the settings', async () => {
      const tenant = 'order';
      const ada = user({ tenant });
      const { overrides, bound } = await node({
        tiers: { free: minute(10) },
        tenants: { order: minute(20) },
        users: { 'order/eve': minute(30) },
      });
      const eve = { ...ada, subject: 'eve' };
      assert.deepEqual([await bound(ada), await bound(eve)], [20, 30]);
      await overrides.put(olga, { tenant }, minute(25));
      assert.deepEqual([await bound(ada), await bound(eve)], [25, 30], 'a user in the settings is still a user');
      await overrides.put(olga, { tenant, subject: 'eve' }, minute(35));
      await overrides.put(olga, { tenant, subject: 'ada' }, minute(null));
      assert.deepEqual([await bound(ada), await bound(eve)], [null, 35]);
      assert.deepEqual(
        await bound({ ...eve, tenant: 'other' }),
        10,
        'the same subject in another tenant is another user',
      );
      await overrides.remove(olga, { tenant, subject: 'ada' });
      await overrides.remove(olga, { tenant });
      assert.deepEqual([await bound(ada), await bound(eve)], [20, 35]);
      assert.equal(await bound(ada, 'model_calls'), 20, 'what is not said stays as it is');
      await overrides.put(olga, { tenant, subject: 'op' }, minute(1));
      assert.equal(await bound({ ...ada, kind: 'operator', subject: 'op' }), 1, 'operators have none unless set');
    });

    test('it counts on every node within two seconds, on its own at once', async () => {
      const tenant = 'soon';
      const one = await node();
      const other = await node({}, one.clock);
      const ada = user({ tenant });
      await other.tiers.take(ada, 'agent_executions');
      await one.overrides.put(olga, { tenant }, minute(0));
      await assert.rejects(
        one.tiers.take(ada, 'agent_executions'),
        refused('rate_limited', /at most 0 agent executions/),
      );
      one.clock.advance(2_000);
      await assert.rejects(other.tiers.take(ada, 'agent_executions'), refused('rate_limited'));
      await one.overrides.remove(olga, { tenant });
      one.clock.advance(2_000);
      await other.tiers.take(ada, 'agent_executions');
    });

    test('usage shows the used units of each bound, until when, and takes none', async () => {
      const { tiers, usage } = await node({}, new ManualClock());
      const ada = user({ tenant: 'used' });
      await tiers.take(ada, 'agent_executions');
      await tiers.take(ada, 'model_tokens', 1_234);
      await tiers.take(ada, 'tool:fs.read');
      await tiers.take(ada, 'tool:fs.write');
      for (let n = 0; n < 3; n += 1) {
        const { buckets, ...rest } = await usage.of(ada);
        assert.deepEqual(rest, {
          ...{ tenant: 'used', subject: 'ada', kind: 'tenant_user', tier: 'free' },
          concurrent_executions: { used: 1, limit: 2 },
          agents: { limit: 5 },
        });
        const used = buckets
          .filter((one) => one.used > 0)
          .map((one) => `${one.name} ${one.window} ${one.used}/${one.limit}`);
        assert.deepEqual(
          used.filter((line) => / minute /.test(line)),
          ['agent_executions minute 1/3', 'model_tokens minute 1234/20000', 'tool:fs.* minute 2/60'],
        );
        assert.equal(used.length, 11, 'five windows of two, one of fs.*');
        for (const { resets_at } of buckets) assert.ok(Date.parse(resets_at) > counting.now());
      }
      assert.deepEqual((await usage.of(user({ tenant: 'used', kind: 'local' }))).buckets, []);
    });

    test('overrides are listed by tenant and user, replaced whole, and say who set them', async () => {
      const { overrides, audited } = await node();
      const tenant = 'listed';
      const subject = `odd/${'ü'.repeat(200)}`;
      await overrides.put(olga, { tenant, subject }, minute(1));
      await overrides.put({ subject: 'otto' }, { tenant, subject }, { agents: 7 });
      await overrides.put(olga, { tenant }, {});
      const found = (await overrides.list({ tenant }, page)).items;
      assert.deepEqual(
        found.map((one) => [one.subject, one.rates, one.updated_by]),
        [
          [null, {}, 'olga'],
          [subject, { agents: 7 }, 'otto'],
        ],
      );
      assert.equal((await overrides.list({ tenant, subject }, page)).items.length, 1);
      assert.equal((await overrides.list({ tenant: 'nobody' }, page)).items.length, 0);
      await overrides.remove(olga, { tenant, subject });
      await assert.rejects(overrides.remove(olga, { tenant, subject }), refused('not_found'));
      assert.deepEqual(
        audited.map(({ event, by }) => `${event} ${by}`),
        [...['olga', 'otto', 'olga'].map((by) => `RateLimitOverrideSet ${by}`), 'RateLimitOverrideRemoved olga'],
      );
      for (const bad of [
        { tenant: 'No Slug' },
        { tenant: '' },
        { tenant, subject: '' },
        { tenant, subject: 'x'.repeat(257) },
      ]) {
        await assert.rejects(overrides.put(olga, bad, {}), refused('invalid_argument'));
      }
    });

    test('20 operators at once: the rate of one of them is set, and none fails', async () => {
      const { overrides } = await node();
      const tenant = 'busy';
      await Promise.all(Array.from({ length: 20 }, (_one, n) => overrides.put(olga, { tenant }, minute(n))));
      assert.equal((await overrides.list({ tenant }, page)).items.length, 1);
    });
  });
}
