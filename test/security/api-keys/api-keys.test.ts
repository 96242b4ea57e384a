import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../../runtime/documents.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { openApiKeys } from '../../../security/api-keys/api-keys.ts';
import { API_KEYS, type ApiKeyDocument, digestOf, makeKeyText } from '../../../security/api-keys/record.ts';
import { DOCUMENT_STORES } from '../../catalog/document-stores.ts';
import { refused } from '../../support/refused.ts';
import { ManualClock } from '../identity-provider.ts';

const person = (more: Partial<Identity> = {}): Identity => ({
  ...{ kind: 'tenant_user', subject: 'andy', tenant: 'alpha', roles: [], tier: 'pro' },
  ...more,
});
const admin = (tenant = 'alpha'): Identity => person({ subject: `admin-${tenant}`, tenant, roles: ['svc:admin'] });

/** Keys of one node; `audited` and `warned` have its audit entries and its warnings. */
async function node(documents: Documents, clock = new ManualClock()) {
  const audited: Readonly<Record<string, string>>[] = [];
  const warned: string[] = [];
  const keys = await openApiKeys({
    ...{ documents, clock, random: systemRandom },
    warn: (message, error) => void warned.push(`${message} ${String(error)}`),
    audit: (event) => void audited.push(event),
  });
  const stored: Collection<ApiKeyDocument> = await documents.collection<ApiKeyDocument>(API_KEYS);
  return { keys, clock, audited, warned, stored };
}

const page = { everybody: false, limit: 100, skip: 0 };

for (const { name, skip, open } of DOCUMENT_STORES) {
  describe(`API keys on ${name}`, { skip }, () => {
    let documents: Documents;
    let stop: () => Promise<void>;
    before(async () => {
      ({ documents, stop } = await open());
    });
    after(() => stop());

    test('a key acts as the user who created it, with the rights of that user, and is stored as a hash only', async () => {
      const { keys, stored, audited } = await node(documents);
      const owner = person({ subject: 'owner-1', roles: ['svc:readonly'], tier: 'business' });
      const made = await keys.create(owner, { name: 'ci', scopes: ['executions:read', 'executions:read'] });
      assert.deepEqual(await keys.verify(made.key, true), {
        ...owner,
        key: { id: made.id, scopes: ['executions:read'], expiresAt: Date.parse(made.expires_at) },
      });
      await keys.close();
      const document = await stored.get('alpha', made.id);
      assert.equal(document?.digest, digestOf(made.key));
      assert.ok(!JSON.stringify([document, audited]).includes(made.key));
      assert.deepEqual(audited, [
        { event: 'ApiKeyCreated', key_id: made.id, key_name: 'ci', tenant: 'alpha', by: 'owner-1' },
      ]);
      const { key, ...shown } = made;
      const again = await keys.get(owner, made.id);
      assert.deepEqual({ ...again, last_used_at: null }, { ...shown, last_used_at: null });
    });

    test('a truncated, changed, revoked, expired or unknown key gets one answer: unauthenticated', async () => {
      const { keys, clock } = await node(documents);
      const owner = person({ subject: 'owner-2' });
      const [live, gone, short] = [
        await keys.create(owner, { name: 'live' }),
        await keys.create(owner, { name: 'gone' }),
        await keys.create(owner, { name: 'short', expiresInSeconds: 60 }),
      ];
      await keys.revoke(owner, gone.id);
      await keys.verify(short.key, true);
      clock.advance(60_000);
      const bad = [
        gone.key,
        short.key,
        makeKeyText(),
        live.key.slice(0, -1),
        `${live.key}A`,
        live.key.toUpperCase(),
        '',
      ];
      const messages = new Set<string>();
      for (const text of bad) {
        await assert.rejects(keys.verify(text, true), (error) => {
          messages.add(error instanceof Error ? error.message : '');
          return refused('unauthenticated')(error);
        });
        assert.equal(await keys.validate(owner, text), null);
      }
      assert.equal(messages.size, 1);
      await keys.verify(live.key, true);
      const statuses = (await keys.list(owner, page)).items.map((key) => `${key.name} ${key.status}`);
      assert.deepEqual(statuses.sort(), ['gone revoked', 'live active', 'short expired']);
    });

    test('1,000 random keys are refused', async () => {
      const { keys } = await node(documents);
      for (let round = 0; round < 10; round += 1) {
        const texts = Array.from({ length: 100 }, () => makeKeyText());
        const ended = await Promise.allSettled(texts.map((text) => keys.verify(text, true)));
        assert.ok(ended.every(({ status }) => status === 'rejected'));
      }
    });

    test('a key that was revoked on one node is refused on the other within a second, and at once on its own', async () => {
      const one = await node(documents);
      const other = await node(documents, one.clock);
      const owner = person({ subject: 'owner-3' });
      const made = await one.keys.create(owner, { name: 'shared' });
      await other.keys.verify(made.key, true);
      await one.keys.verify(made.key, true);
      await Promise.all([one.keys.close(), other.keys.close()]);
      const revoked = await one.keys.revoke(owner, made.id);
      assert.deepEqual([revoked.status, revoked.revoked_by], ['revoked', 'owner-3']);
      await assert.rejects(one.keys.verify(made.key, true), refused('unauthenticated'));
      one.clock.advance(1_000);
      await assert.rejects(other.keys.verify(made.key, true), refused('unauthenticated'));
      assert.deepEqual(await other.keys.revoke(owner, made.id), revoked, 'once more changes nothing');
      assert.deepEqual(
        one.audited.map(({ event }) => event),
        ['ApiKeyCreated', 'ApiKeyRevoked'],
      );
      assert.deepEqual(other.audited, []);
    });

    test('a use that is under way does not restore a revoked key', async () => {
      const { keys, clock, warned } = await node(documents);
      const owner = person({ subject: 'owner-4' });
      for (let round = 0; round < 20; round += 1) {
        const made = await keys.create(owner, { name: 'busy' });
        // A use reads the key in two steps: one that ends behind the revocation is refused already.
        const use = () => keys.verify(made.key, true).catch(refused('unauthenticated'));
        await Promise.all([use(), keys.revoke(owner, made.id), use()]);
        clock.advance(1_000);
        await assert.rejects(keys.verify(made.key, true), refused('unauthenticated'));
        assert.equal((await keys.get(owner, made.id)).status, 'revoked');
      }
      await keys.close();
      assert.deepEqual(warned, []);
    });

    test('the last use is recorded to the minute, without a write for every call', async () => {
      const { keys, clock, stored } = await node(documents);
      const owner = person({ subject: 'owner-5' });
      const made = await keys.create(owner, { name: 'used' });
      assert.equal(made.last_used_at, null);
      for (let second = 0; second < 90; second += 1) {
        await keys.verify(made.key, true);
        await keys.close();
        clock.advance(1_000);
      }
      const document = await stored.get('alpha', made.id);
      assert.equal(document?.version, 3, 'created, first use, one a minute later');
      assert.equal(Date.parse(document?.last_used_at ?? ''), Date.parse(made.created_at) + 60_000);
    });

    test('a key of another tenant or user answers as one that never existed; an administrator sees those of the tenant', async () => {
      const { keys } = await node(documents);
      const owner = person({ subject: 'owner-6' });
      const made = await keys.create(owner, { name: 'mine' });
      const never = randomUUID();
      const strangers = [admin('beta'), person({ subject: 'owner-6', tenant: 'beta' }), person({ subject: 'other' })];
      for (const stranger of [...strangers, person({ subject: 'owner-6', kind: 'consumer' })]) {
        for (const id of [made.id, never]) {
          await assert.rejects(keys.get(stranger, id), refused('not_found', /^API key not found$/));
          await assert.rejects(keys.revoke(stranger, id), refused('not_found', /^API key not found$/));
        }
        const { items: seen } = await keys.list(stranger, page);
        assert.ok(!seen.some(({ id }) => id === made.id));
      }
      assert.equal(await keys.validate(admin('beta'), made.key), null);
      assert.equal((await keys.validate(person({ subject: 'other' }), made.key))?.id, made.id);
      await assert.rejects(keys.list(owner, { ...page, everybody: true }), refused('forbidden'));
      const { items: all } = await keys.list(admin(), { everybody: true, limit: 1_000, skip: 0 });
      assert.ok(all.some(({ id }) => id === made.id));
      assert.equal((await keys.revoke(admin(), made.id.toUpperCase())).revoked_by, 'admin-alpha');
    });

    test('a key creates keys only with the scope for it, none with wider scopes than its own, and they end with it', async () => {
      const { keys, clock } = await node(documents);
      const owner = person({ subject: 'owner-7' });
      const plain = await keys.create(owner, { name: 'plain', scopes: ['*'] });
      await assert.rejects(
        keys.create(await keys.verify(plain.key, true), { name: 'child' }),
        refused('forbidden', /lacks scope keys:write/),
      );
      const maker = await keys.create(owner, {
        ...{ name: 'maker', scopes: ['keys:write', 'agents:*'], expiresInSeconds: 3_600 },
      });
      const caller = await keys.verify(maker.key, true);
      for (const scopes of [['*'], ['executions:read'], ['keys:write'], ['keys:*'], ['agents:read', 'keys:read']]) {
        await assert.rejects(keys.create(caller, { name: 'child', scopes }), refused('forbidden'), scopes.join());
      }
      const child = await keys.create(caller, { name: 'child', expiresInSeconds: 86_400 });
      assert.deepEqual([child.scopes, child.made_by_key], [['agents:*'], maker.id]);
      assert.equal(child.expires_at, maker.expires_at, 'no longer than its maker');
      assert.equal((await keys.verify(child.key, true)).subject, 'owner-7');
      await keys.revoke(owner, maker.id);
      clock.advance(1_000);
      await assert.rejects(keys.verify(child.key, true), refused('unauthenticated'));
    });

    test('names, scopes, times and numbers have limits, and the field is named', async () => {
      const { keys } = await node(documents);
      const owner = person({ subject: 'owner-8' });
      const bad: [Parameters<typeof keys.create>[1], RegExp][] = [
        [{ name: ' ' }, /^name: /],
        [{ name: 'x'.repeat(101) }, /^name: /],
        [{ name: 'a\nb' }, /^name: /],
        [{ name: 'a', scopes: [] }, /^scopes: /],
        [{ name: 'a', scopes: ['agents:call'] }, /^scopes: /],
        [{ name: 'a', scopes: Array.from({ length: 33 }, () => '*') }, /^scopes: /],
        [{ name: 'a', expiresInSeconds: 59 }, /^expires_in: /],
        [{ name: 'a', expiresInSeconds: 367 * 86_400 }, /^expires_in: /],
        [{ name: 'a', expiresInSeconds: 1.5 }, /^expires_in: /],
      ];
      for (const [request, text] of bad) {
        await assert.rejects(keys.create(owner, request), refused('invalid_argument', text));
      }
      await assert.rejects(keys.create(person({ kind: 'actor' }), { name: 'a' }), refused('forbidden'));
      const made = await Promise.allSettled(Array.from({ length: 60 }, () => keys.create(owner, { name: 'many' })));
      assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 50);
      for (const one of made) if (one.status === 'rejected') refused('limit_reached')(one.reason);
      const [first] = (await keys.list(owner, page)).items;
      await keys.revoke(owner, first?.id ?? '');
      await keys.create(owner, { name: 'one more' });
    });

    test('keys that were revoked or expired 90 days ago are deleted', async () => {
      const { keys, clock, stored } = await node(documents);
      const owner = person({ subject: 'owner-9' });
      const old = await keys.create(owner, { name: 'old', expiresInSeconds: 60 });
      clock.advance(91 * 86_400_000);
      await keys.create(owner, { name: 'new' });
      assert.equal(await stored.get('alpha', old.id), null);
      assert.equal((await keys.list(owner, page)).items.length, 1);
    });

    test('a key of the local operator is valid only where every caller is the local operator', async () => {
      const { keys } = await node(documents);
      const local = person({ kind: 'local', subject: 'local-operator', tenant: 'svc-system', roles: ['svc:admin'] });
      const made = await keys.create(local, { name: 'local' });
      assert.equal((await keys.verify(made.key, false)).kind, 'local');
      await assert.rejects(keys.verify(made.key, true), refused('unauthenticated'));
    });
  });
}

describe('API keys while the store is down', () => {
  test('a key check is unavailable, not unauthenticated, when the cached record is too old', async () => {
    const [store] = DOCUMENT_STORES;
    assert.ok(store !== undefined);
    const { documents, stop } = await store.open();
    let isDown = false;
    const failing: Documents = {
      open: () => documents.open(),
      close: () => documents.close(),
      async collection<T extends StoredDocument>(spec: CollectionSpec) {
        const real = await documents.collection<T>(spec);
        const get = real.get.bind(real);
        real.get = async (tenant, id) => {
          if (isDown) throw new SvcError('unavailable', 'the store is down');
          return get(tenant, id);
        };
        return real;
      },
    };
    const { keys, clock } = await node(failing);
    const made = await keys.create(person(), { name: 'ci' });
    await keys.verify(made.key, true);
    isDown = true;
    clock.advance(1_000);
    for (let n = 0; n < 3; n += 1) await assert.rejects(keys.verify(made.key, true), refused('unavailable'));
    isDown = false;
    assert.equal((await keys.verify(made.key, true)).subject, 'andy');
    await keys.close();
    await stop();
  });
});
