import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DEFAULT_TIER_RATES, NodeRateLimits } from '../../manifests/node/rate-limits.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SqliteRateLimits } from '../../runtime/sqlite/rate-limits.ts';
import type { Limited, Principal } from '../../security/api.ts';
import { createTierLimits, rateBucket } from '../../security/rate-bounds.ts';

const none = NodeRateLimits.parse({});
const user = (more: Partial<Principal> = {}): Principal => ({
  ...{ kind: 'tenant_user', subject: 'ada', tenant: 'acme', tier: 'free' },
  ...more,
});
/** `minute 3, hour 5`: the bounds as text, with the name of the bucket when it differs from the one asked for. */
const shown = (settings: unknown, principal: Principal, what: Limited): string => {
  const bucket = rateBucket(NodeRateLimits.parse(settings), principal, what);
  if (bucket === null) return 'none';
  const bounds = bucket.bounds.map(({ window, limit }) => `${window} ${limit}`).join(', ');
  return bucket.name === what ? bounds : `${bucket.name}: ${bounds}`;
};

describe('the defaults of the tiers', () => {
  const rows: [Principal['tier'], Limited, string][] = [
    ['free', 'agent_executions', 'minute 3, hour 5, day 20, week 80, month 100'],
    ['free', 'workflow_executions', 'minute 2, hour 3, day 10, week 40, month 50'],
    ['free', 'model_calls', 'minute 20, hour 100, day 500, week 2500, month 5000'],
    ['free', 'model_tokens', 'minute 20000, hour 100000, day 500000, week 2500000, month 5000000'],
    ['free', 'tool:fs.read', 'tool:fs.*: minute 60'],
    ['free', 'tool:fs.create.dir', 'tool:fs.*: minute 60'],
    ['free', 'tool:web.search', 'minute 20, hour 30'],
    ['free', 'tool:web.fetch', 'tool:*: minute 30'],
    ['pro', 'agent_executions', 'minute 10, hour 50, day 200, week 1000, month 2000'],
    ['pro', 'tool:web.search', 'minute 60, hour 300'],
    ['business', 'workflow_executions', 'minute 15, hour 100, day 500, week 2500, month 5000'],
    ['business', 'tool:cmd.run', 'tool:*: minute 300'],
    ['enterprise', 'model_tokens', 'minute 2000000, hour 10000000, day 100000000, week 500000000, month 1000000000'],
    ['enterprise', 'tool:fs.grep', 'tool:fs.*: minute 1200'],
  ];
  for (const [tier, what, bounds] of rows)
    test(`${tier} ${what}: ${bounds}`, () => {
      assert.equal(shown({}, user({ tier }), what), bounds);
      assert.equal(shown({}, user({ tier, kind: 'consumer' }), what), bounds);
    });

  test('every tier bounds everything, a better tier never less than a lesser one', () => {
    const tiers = Object.values(DEFAULT_TIER_RATES);
    for (const [n, rates] of tiers.entries()) {
      for (const what of ['agent_executions', 'workflow_executions', 'model_calls', 'model_tokens'] as const) {
        for (const window of ['minute', 'hour', 'day', 'week', 'month'] as const) {
          const limit = rates[what]?.[window] ?? 0;
          assert.ok(limit > (tiers[n - 1]?.[what]?.[window] ?? 0), `${what} ${window} of tier ${n}`);
        }
      }
    }
  });

  test('operators, service accounts, actors and the local operator have none unless set', () => {
    for (const kind of ['operator', 'service_account', 'actor', 'local'] as const) {
      assert.equal(shown({}, user({ kind }), 'agent_executions'), 'none');
      assert.equal(
        shown({ tiers: { free: { agent_executions: { minute: 1 } } } }, user({ kind }), 'agent_executions'),
        'none',
      );
      const set = { kinds: { [kind]: { agent_executions: { minute: 7 } } } };
      assert.equal(shown(set, user({ kind }), 'agent_executions'), 'minute 7');
    }
  });
});

describe('settings', () => {
  test('user over tenant over tier, window by window', () => {
    const settings = {
      tiers: { free: { model_calls: { minute: 1, hour: 1, day: 1 } } },
      tenants: { acme: { model_calls: { hour: 2, day: 2 } }, globex: { model_calls: { minute: 99 } } },
      users: { ada: { model_calls: { day: 3 } }, 'acme/ada': { model_calls: { week: 4 } } },
    };
    assert.equal(shown(settings, user(), 'model_calls'), 'minute 1, hour 2, day 3, week 4, month 5000');
    assert.equal(
      shown(settings, user({ subject: 'bob' }), 'model_calls'),
      'minute 1, hour 2, day 2, week 2500, month 5000',
    );
    assert.equal(
      shown(settings, user({ tenant: 'globex', subject: 'bob' }), 'model_calls'),
      'minute 99, hour 1, day 1, week 2500, month 5000',
    );
  });

  test('null removes a bound, 0 forbids', () => {
    const settings = {
      tenants: { acme: { agent_executions: { minute: null, hour: null, day: null, week: null, month: 0 } } },
      users: { free: { agent_executions: { month: null } } },
    };
    assert.equal(shown(settings, user(), 'agent_executions'), 'month 0');
    assert.equal(shown(settings, user({ subject: 'free' }), 'agent_executions'), 'none');
  });

  test('of the patterns that match a tool the narrowest counts, at whichever level it was set', () => {
    const settings = {
      tenants: { acme: { tools: { 'fs.read': { minute: 5 }, 'mcp.a.*': { hour: 6 }, 'fs.*': { hour: 1 } } } },
      users: { ada: { tools: { '*': { minute: 1 } } } },
    };
    assert.equal(shown(settings, user(), 'tool:fs.read'), 'minute 5');
    assert.equal(shown(settings, user(), 'tool:fs.x'), 'tool:fs.*: minute 60, hour 1');
    assert.equal(shown(settings, user(), 'tool:mcp.a.b'), 'tool:mcp.a.*: hour 6');
    assert.equal(shown(settings, user(), 'tool:mcp.a'), 'tool:*: minute 1');
    assert.equal(shown(settings, user(), 'tool:fsx.read'), 'tool:*: minute 1');
  });

  test('names of JavaScript’s own properties are no settings', () => {
    for (const subject of ['constructor', '__proto__', 'toString'])
      assert.equal(shown({}, user({ kind: 'operator', subject, tenant: subject }), 'tool:constructor'), 'none');
  });

  test('an unknown tier, window or pattern is an error that says where', () => {
    for (const wrong of [
      { tiers: { gold: {} } },
      { tiers: { free: { agent_executions: { second: 1 } } } },
      { tiers: { free: { tools: { 'fs.*.x': { minute: 1 } } } } },
      { tiers: { free: { agent_executions: { minute: -1 } } } },
      { kinds: { consumer: {} } },
    ])
      assert.equal(NodeRateLimits.safeParse(wrong).success, false, JSON.stringify(wrong));
  });
});

describe('limits of a user', () => {
  let directory = '';
  let limits: SqliteRateLimits;
  let now = 1_000_000 * 2_592_000_000;
  const clock: Clock = { ...systemClock, now: () => now };
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-tiers-'));
    limits = new SqliteRateLimits({ directory, clock });
    await limits.open();
  });
  after(async () => {
    await limits.close();
    await rm(directory, { recursive: true });
  });

  const refusal = async (call: Promise<void>): Promise<SvcError> => {
    const thrown = await call.then(
      () => null,
      (error: unknown) => error,
    );
    assert.ok(thrown instanceof SvcError && thrown.code === 'rate_limited', String(thrown));
    return thrown;
  };

  test('the fourth execution of a minute is refused by name, with a time to retry', async () => {
    const tiers = createTierLimits({ limits, settings: none });
    for (let n = 0; n < 3; n += 1) await tiers.take(user(), 'agent_executions');
    now += 15_000;
    const error = await refusal(tiers.take(user(), 'agent_executions'));
    assert.equal(error.message, 'at most 3 agent executions per minute; try again later.');
    assert.equal(error.field, 'agent_executions');
    assert.equal(error.retryAfterMs, 45_000);
    now += 45_000;
    await tiers.take(user(), 'agent_executions');
    await tiers.take(user(), 'agent_executions');
    const hour = await refusal(tiers.take(user(), 'agent_executions'));
    assert.equal(hour.message, 'at most 5 agent executions per hour; try again later.');
    assert.equal(hour.retryAfterMs, 3_540_000);
  });

  test('another user, another tenant and another thing are counted apart', async () => {
    const tiers = createTierLimits({ limits, settings: none });
    const principals = [user({ subject: 'x1' }), user({ subject: 'x2' }), user({ subject: 'x1', tenant: 'globex' })];
    for (const principal of principals) {
      await tiers.take(principal, 'workflow_executions', 2);
      await refusal(tiers.take(principal, 'workflow_executions'));
      await tiers.take(principal, 'agent_executions');
    }
  });

  test('tools under one pattern are counted together, and the refusal says so', async () => {
    const tiers = createTierLimits({ limits, settings: none });
    const principal = user({ subject: 'reader' });
    for (let n = 0; n < 60; n += 1) await tiers.take(principal, n % 2 === 0 ? 'tool:fs.read' : 'tool:fs.write');
    const error = await refusal(tiers.take(principal, 'tool:fs.grep'));
    assert.equal(
      error.message,
      'at most 60 calls of tool fs.grep per minute (counted together: fs.*); try again later.',
    );
    await tiers.take(principal, 'tool:web.fetch');
  });

  test('a request for more than a window holds is refused for good, and takes nothing', async () => {
    const tiers = createTierLimits({ limits, settings: none });
    const principal = user({ subject: 'greedy' });
    const error = await refusal(tiers.take(principal, 'model_tokens', 20_001));
    assert.match(error.message, /at most 20000 model tokens per minute; 20001 at once are never allowed/);
    await tiers.take(principal, 'model_tokens', 20_000);
  });

  test('a caller without limits is never counted', async () => {
    const tiers = createTierLimits({
      limits: { take: () => assert.fail('it was counted'), read: async () => [], close: async () => {} },
      settings: none,
    });
    await tiers.take(user({ kind: 'local' }), 'agent_executions', 1_000_000);
  });
});
