import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { canonicalHash } from '../../manifests/audit/record.ts';
import { type Address, addressOf } from '../../runtime/address.ts';
import type { ActorSnapshot } from '../../runtime/client.ts';
import type { StoredDocument } from '../../runtime/documents.ts';
import type { Identity } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import type { Presence } from '../../usecases/runs/run-calls.ts';
import { executionIdFor, openStartKeys, START_KEYS, type StartKey } from '../../usecases/starts/start-keys.ts';
import { isStartedBy } from '../../usecases/waits/wait-reason.ts';

const directory = await mkdtemp(join(tmpdir(), 'svc-keys-'));
const documents = new SqliteDocuments({ directory });
await documents.open();
after(async () => {
  await documents.close();
  await rm(directory, { recursive: true });
});

const user = (subject: string, tenant: string, kind: Identity['kind'] = 'tenant_user'): Identity => ({
  ...{ kind, subject, tenant, roles: [], tier: 'free' },
});

/** Start keys over what a store holds: each run with the one who started it, null for an ended one. */
async function startKeys(runs: ReadonlyMap<string, Identity | null> = new Map()) {
  const presence = async (_tenant: string, id: string): Promise<Presence> => (runs.has(id) ? 'there' : 'unknown');
  const stateAt = (address: Address): ActorSnapshot | null => {
    const [id, identity] = [...runs].find(([one]) => address === addressOf('execution', 'kept', one)) ?? [];
    if (id === undefined) return null;
    const state = identity === null ? {} : { identity };
    return { address, state, revision: 1, lastEvent: 1, archived: false, timers: [], stuck: null };
  };
  return openStartKeys({
    documents,
    clock: { now: () => 1_000_000 },
    random: systemRandom,
    executions: { presence },
    workflows: { presence },
    startedBy: (caller, id) => isStartedBy({ read: async (address) => stateAt(address) }, caller, id),
  });
}

const keyOf = (identity: Identity, key: string): StartKey => ({ identity, what: '', key });

describe('keys of starts', () => {
  test('belong to a subject: the same key of two users of one tenant names two starts', async () => {
    const keys = await startKeys();
    const [ann, amy] = [user('ann', 'one'), user('amy', 'one')];
    const ids = [await keys.idFor(keyOf(ann, 'k'), 'body'), await keys.idFor(keyOf(amy, 'k'), 'body')];
    assert.equal(new Set(ids).size, 2);
    assert.deepEqual([await keys.idFor(keyOf(ann, 'k'), 'body'), await keys.idFor(keyOf(amy, 'k'), 'body')], ids);
    await keys.idFor(keyOf(amy, 'k2'), 'another body');
    assert.equal(await keys.find(keyOf(user('eve', 'one'), 'k')), null);
  });

  test('belong to a kind of caller too: a service account is not the user of the same name', async () => {
    const keys = await startKeys();
    const [person, program] = [user('bob', 'two'), user('bob', 'two', 'service_account')];
    const first = await keys.idFor(keyOf(person, 'k'), 'body');
    assert.equal(await keys.find(keyOf(program, 'k')), null);
    assert.notEqual(await keys.idFor(keyOf(program, 'k'), 'body'), first);
  });

  test('of different users and starts never collide when their texts are joined', async () => {
    const keys = await startKeys();
    const ids = new Set<string>();
    for (const [subject, key] of [
      ['a', 'b c'],
      ['a b', 'c'],
      ['a"', ',"b'],
      ['a', '","b'],
    ] as const)
      ids.add(await keys.idFor(keyOf(user(subject, 'three'), key), 'body'));
    assert.equal(ids.size, 4);
  });

  test('that an earlier version bound keep their start', async () => {
    const stored = await documents.collection<StoredDocument & Record<string, unknown>>(START_KEYS);
    const execution_id = '11111111-2222-4333-8444-555555555555';
    // As written by the version that brought these documents.
    const bound = { execution_id, body_hash: canonicalHash('body'), bound_at: 1_000_000, version: 1, tenant: 'four' };
    assert.ok(await stored.insert({ ...bound, id: '40ad940d-52a8-859f-b2c2-07df356fe066' }));
    const keys = await startKeys();
    assert.equal(await keys.idFor(keyOf(user('ann', 'four'), 'order-7'), 'body'), execution_id);
    assert.equal(await keys.find(keyOf(user('amy', 'four'), 'order-7')), null);
  });

  test('keys that are older than their documents are found by their caller, and by no other', async () => {
    const [ann, amy] = [user('ann', 'kept'), user('amy', 'kept')];
    const id = executionIdFor('kept', 'old');
    const keys = await startKeys(new Map([[id, ann]]));
    const others = await keys.idFor(keyOf(amy, 'old'), 'body');
    assert.notEqual(others, id);
    assert.equal(await keys.idFor(keyOf(ann, 'old'), 'body'), id);
    assert.equal(await keys.idFor(keyOf(amy, 'old'), 'body'), others);
  });

  test('keys of ended starts that are older than their documents are found where there is one caller only', async () => {
    const id = executionIdFor('kept', 'ended');
    const keys = await startKeys(new Map([[id, null]]));
    assert.notEqual(await keys.idFor(keyOf(user('ann', 'kept'), 'ended'), 'body'), id);
    assert.equal(await keys.idFor(keyOf(user('local-operator', 'kept', 'local'), 'ended'), 'body'), id);
  });
});
