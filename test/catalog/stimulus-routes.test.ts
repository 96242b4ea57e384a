import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  type ConfiguredRoute,
  createStimulusRoutes,
  STIMULUS_ROUTES,
  type StimulusRouteDocument,
} from '../../catalog/stimulus-routes.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Identity } from '../../runtime/identity.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';

const directory = await mkdtemp(join(tmpdir(), 'svc-routes-'));
const store = new SqliteDocuments({ directory });
await store.open();
after(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});
const documents = await store.collection<StimulusRouteDocument>(STIMULUS_ROUTES);

const table = (configured: readonly ConfiguredRoute[] = []) =>
  createStimulusRoutes({ documents, configured, clock: systemClock });
const of = (tenant: string): Identity => ({ kind: 'operator', subject: 'o', tenant, roles: [], tier: 'free' });

test('a route of the settings belongs to its tenant, without one to svc-system', async () => {
  const routes = table([
    { source: 'A', workflow: 'one' },
    { source: 'a', workflow: 'two', tenant: 'alice' },
  ]);
  assert.deepEqual(await Promise.all(['svc-system', 'alice', 'bob'].map((tenant) => routes.find(tenant, 'a'))), [
    'one',
    'two',
    null,
  ]);
  assert.deepEqual(await routes.list('alice'), [{ source: 'a', workflow: 'two', origin: 'settings' }]);
});

test('a webhook goes where the settings say, never where a tenant put a route for itself', async () => {
  const routes = table([{ source: 'hub', workflow: 'w', tenant: 'alice' }]);
  await routes.put(of('mallory'), 'hub', 'steal');
  await routes.put(of('mallory'), 'free', 'steal');
  assert.deepEqual(await routes.findWebhook('HUB'), { tenant: 'alice', workflow: 'w' });
  assert.equal(await routes.findWebhook('free'), null);
  await routes.put(of('svc-system'), 'hub', 'ours');
  assert.deepEqual(await routes.findWebhook('hub'), { tenant: 'svc-system', workflow: 'ours' });
});

test('two tenants that take webhooks of one source are a conflict, two routes of one tenant are not', async () => {
  const route = (tenant: string, workflow: string) => ({ source: 'both', workflow, tenant });
  await assert.rejects(table([route('a', 'x'), route('b', 'y')]).findWebhook('both'), { code: 'conflict' });
  const same = table([route('a', 'x'), route('a', 'y')]);
  assert.deepEqual(await same.findWebhook('both'), { tenant: 'a', workflow: 'x' });
});

test('a source whose secret is that of another one is refused, when it is put and when a webhook comes', async () => {
  const routes = table([{ source: 'git-hub', workflow: 'w', tenant: 'alice' }]);
  await assert.rejects(routes.findWebhook('git_hub'), { code: 'conflict' }, 'it has no route of its own');
  await assert.rejects(routes.put(of('svc-system'), 'git.hub', 'steal'), { code: 'conflict' });
  assert.deepEqual(await routes.findWebhook('Git-Hub'), { tenant: 'alice', workflow: 'w' });
  await routes.put(of('svc-system'), 'pay-pal', 'one');
  await routes.put(of('svc-system'), 'PAY-PAL', 'two');
  await assert.rejects(routes.put(of('svc-system'), 'pay_pal', 'three'), { code: 'conflict' });
  await routes.put(of('alice'), 'pay_pal', 'no webhook reaches it');
});

test('the secrets that are set for sources count, not the variables that they would have', async () => {
  const webhook = (source: string, ...secrets: string[]) => ({
    ...{ source, secrets, scheme: 'github' as const, repeat: 'key' as const },
  });
  const webhooks = [webhook('Own-One', 'env:ONE'), webhook('thief', 'env:SVC_WEBHOOK_SECRET_SHOP')];
  const routes = createStimulusRoutes({ documents, configured: [], webhooks, clock: systemClock });
  await routes.put(of('svc-system'), 'own-one', 'w');
  await routes.put(of('svc-system'), 'own_one', 'has the variable for itself');
  await assert.rejects(routes.put(of('svc-system'), 'shop', 'w'), {
    code: 'conflict',
    message: 'source shop would share the secret of source thief, SVC_WEBHOOK_SECRET_SHOP: give each source its own',
  });
});

test('concurrent puts of one source all succeed and one of them stays', async () => {
  const routes = table();
  await Promise.all(Array.from({ length: 8 }, (_, n) => routes.put(of('racer'), 'Hot', `w${n}`)));
  const [only, ...more] = await routes.list('racer');
  assert.equal(more.length, 0);
  assert.match(only?.workflow ?? '', /^w\d$/);
});

test('what has no length that fits is refused, naming the field', async () => {
  for (const [source, workflow, field] of [
    ['', 'w', 'source'],
    ['s'.repeat(201), 'w', 'source'],
    ['s', ' ', 'workflow'],
  ] as const) {
    await assert.rejects(table().put(of('x'), source, workflow), { code: 'invalid_argument', field });
  }
});
