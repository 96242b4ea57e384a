import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { NodeRateLimits } from '../../../manifests/node/rate-limits.ts';
import type { Documents } from '../../../runtime/documents.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Principal } from '../../../security/api.ts';
import { openRateOverrides } from '../../../security/rate-overrides.ts';
import { openRunningLimits, RUNNING_STARTS, type RunningStart } from '../../../security/running-limits.ts';
import { DOCUMENT_STORES } from '../../catalog/document-stores.ts';
import { ManualClock } from '../identity-provider.ts';

const user = (tenant: string, more: Partial<Principal> = {}): Principal => ({
  ...{ kind: 'tenant_user', subject: 'ada', tenant, tier: 'free' },
  ...more,
});
const isLimited = (error: unknown): boolean => {
  assert.ok(error instanceof SvcError, String(error));
  assert.equal(error.code, 'rate_limited');
  assert.match(error.message, /^at most (1 execution|\d+ executions) may run at once/);
  return true;
};

for (const { name, skip, open } of DOCUMENT_STORES) {
  describe(`executions at once on ${name}`, { skip }, () => {
    let documents: Documents;
    let stop: () => Promise<void>;
    before(async () => {
      ({ documents, stop } = await open());
    });
    after(() => stop());

    /** Executions of the test: known ones, and which of them ended. */
    async function nodes(count: number, settings: unknown = {}) {
      const clock = new ManualClock();
      const ended = new Map<string, boolean>();
      const overrides = await openRateOverrides({ documents, clock, audit: () => {} });
      const made = Array.from({ length: count }, () =>
        openRunningLimits({
          ...{ documents, clock, overrides, settings: NodeRateLimits.parse(settings) },
          hasEnded: async (_kind, _tenant, id) => ended.get(id) ?? null,
        }),
      );
      const all = await Promise.all(made);
      const [first] = all;
      assert.ok(first !== undefined);
      const start = async (principal: Principal, limits = first): Promise<string> => {
        const id = randomUUID();
        await limits.admit(principal, 'execution', id);
        ended.set(id, false);
        return id;
      };
      return { first, all, clock, ended, overrides, start };
    }

    test('as many run as the tier allows, agents and workflows together, and an ended one makes room', async () => {
      const { first, ended, start } = await nodes(1);
      const ada = user('tiers');
      const one = await start(ada);
      await first.admit(ada, 'workflow', 'run-1');
      ended.set('run-1', false);
      await assert.rejects(start(ada), isLimited);
      await start(user('tiers', { subject: 'eve' }));
      await start(user('other'));
      assert.equal(await first.count(ada), 2);
      ended.set(one, true);
      await start(ada);
      await assert.rejects(start(ada), isLimited);
      for (let n = 0; n < 10; n += 1) await start(user('tiers', { subject: 'pia', tier: 'pro' }));
      await assert.rejects(start(user('tiers', { subject: 'pia', tier: 'pro' })), isLimited);
    });

    test('a caller without a bound takes no place, and an override adds or removes a bound at once', async () => {
      const { first, overrides, start, clock } = await nodes(1);
      const op = user('bounds', { kind: 'operator', subject: 'op' });
      for (let n = 0; n < 5; n += 1) await start(op);
      const stored = await documents.collection<RunningStart>(RUNNING_STARTS);
      assert.equal(await stored.count({ tenant: 'bounds' }), 0);
      await overrides.put({ subject: 'olga' }, { tenant: 'bounds' }, { concurrent_executions: 1 });
      clock.advance(2_000);
      await start(op);
      await assert.rejects(start(op), isLimited);
      await overrides.put({ subject: 'olga' }, { tenant: 'bounds' }, { concurrent_executions: null });
      for (let n = 0; n < 5; n += 1) await start(op);
      assert.equal(await first.count(op), 1);
    });

    test('a start that failed gives its place back; one without a known outcome keeps it for 30 s only', async () => {
      const { first, clock } = await nodes(1);
      const ada = user('failing');
      for (let n = 0; n < 5; n += 1) {
        await first.admit(ada, 'execution', `failed-${n}`);
        await first.release(ada, `failed-${n}`);
      }
      await first.admit(ada, 'execution', 'lost-1');
      await first.admit(ada, 'execution', 'lost-2');
      await assert.rejects(first.admit(ada, 'execution', 'third'), isLimited);
      clock.advance(31_000);
      await first.admit(ada, 'execution', 'third');
    });

    test('of 30 starts at once over three nodes never more run than allowed', async () => {
      const { all, start } = await nodes(3);
      const pia = user('race', { tier: 'pro' });
      const outcomes = await Promise.allSettled(Array.from({ length: 30 }, (_one, n) => start(pia, all[n % 3])));
      const admitted = outcomes.filter(({ status }) => status === 'fulfilled').length;
      assert.ok(admitted > 0 && admitted <= 10, `${admitted} admitted`);
      for (const one of outcomes) if (one.status === 'rejected') isLimited(one.reason);
    });

    test('30 starts at once on one node fill the bound exactly', async () => {
      const { start } = await nodes(1);
      const pia = user('exact', { tier: 'pro' });
      const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => start(pia)));
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 10);
    });
  });
}
