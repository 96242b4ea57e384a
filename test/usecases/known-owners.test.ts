import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { FollowOptions } from '../../runtime/client.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { runReads } from '../../usecases/runs/run-calls.ts';
import { KnownOwners } from '../../usecases/workflow-runs.ts';

const user = (subject: string, confidential = false): Identity => ({
  ...{ kind: 'tenant_user', subject, tenant: 'acme', roles: [], tier: 'free' },
  ...(confidential ? { confidential } : {}),
});
const run = (id: string): Address => addressOf('workflow', 'acme', id);

test('a run that this process started is known to those who may see it', () => {
  const owners = new KnownOwners();
  owners.note(run('of-all'), user('ann'));
  owners.note(run('of-ann'), user('ann', true));
  const known = (id: string, viewer: Identity | string) => owners.seenBy(viewer, run(id)) !== null;
  assert.deepEqual([known('of-all', user('ann')), known('of-all', user('bob'))], [true, true]);
  assert.deepEqual([known('of-ann', user('ann')), known('of-ann', user('bob'))], [true, false]);
  assert.equal(known('of-another-process', user('ann')), false);
  assert.equal(known('of-another-process', 'acme'), true, 'the node itself sees all runs of a tenant');
});

test('the owners of the last 1,000 runs are kept', () => {
  const owners = new KnownOwners();
  for (let n = 0; n <= 1_000; n += 1) owners.note(run(`${n}`), user('ann'));
  assert.equal(owners.seenBy(user('ann'), run('0')), null);
  assert.equal(owners.seenBy(user('ann'), run('1')), run('1'));
});

test('a run that may be seen while it runs is looked for only when it does not run', async () => {
  let found = 0;
  let asked: FollowOptions | undefined;
  const client = {
    events: async () => [],
    async *follow(_address: Address, _after: number, options: FollowOptions) {
      asked = options;
      yield null;
    },
  };
  const calls = runReads(
    { client, executions: { get: async () => null, put: async () => true } },
    async () => {
      found += 1;
      throw new SvcError('not_found');
    },
    (_viewer, id) => (id === 'known' ? run(id) : null),
  );
  const options = { signal: new AbortController().signal, heartbeatMs: 1_000 };
  const next = (id: string) => calls.follow('acme', id, 0, options)[Symbol.asyncIterator]().next();
  await next('known');
  assert.equal(found, 0);
  await assert.rejects(async () => asked?.unlessRunning?.(), { code: 'not_found' });
  assert.equal(found, 1);
  await assert.rejects(next('unknown'), { code: 'not_found' });
});
