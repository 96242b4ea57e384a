import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { OpenStreams, streamOwner } from '../../transport/open-streams.ts';

/** Opens streams for an owner until it is refused; the count, and the code of the refusal. */
function fill(streams: OpenStreams, caller: string, tenant: string): [count: number, code: unknown] {
  for (let count = 0; ; count += 1) {
    try {
      streams.open({ caller, tenant });
    } catch (error) {
      return [count, error instanceof Error && 'code' in error ? error.code : error];
    }
  }
}

describe('event streams that are open', () => {
  test('one caller may have a tenth of the streams, one tenant a quarter, so that others can always open one', () => {
    const streams = new OpenStreams(1_000);
    assert.deepEqual(fill(streams, 'ann', 'acme'), [100, 'rate_limited']);
    assert.deepEqual(fill(streams, 'amy', 'acme'), [100, 'rate_limited']);
    assert.deepEqual(fill(streams, 'abe', 'acme'), [50, 'rate_limited']);
    for (const tenant of ['b', 'c', 'd']) for (let at = 0; at < 3; at += 1) fill(streams, `${tenant}${at}`, tenant);
    // The last tenth is reserved for tenants with few streams.
    assert.equal(streams.count, 900);
    assert.deepEqual(fill(streams, 'new', 'beta'), [10, 'unavailable']);
  });

  test('a stream that ends makes room for its caller, once', () => {
    const streams = new OpenStreams({ most: 10, perCaller: 2 });
    const owner = { caller: 'ann' };
    const [first] = [streams.open(owner), streams.open(owner)];
    assert.throws(() => streams.open(owner), { code: 'rate_limited' });
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    streams.open(owner);
    assert.throws(() => streams.open(owner), { code: 'rate_limited' });
  });

  test('the operator of a node without an identity provider has all of them', () => {
    const roles: string[] = [];
    const operator = { kind: 'local', subject: 'local-operator', tenant: SYSTEM_TENANT, roles, tier: 'free' } as const;
    assert.equal(streamOwner(operator), undefined);
    assert.deepEqual(streamOwner({ ...operator, kind: 'consumer', tenant: 'u-u' })?.tenant, 'u-u');
  });
});
