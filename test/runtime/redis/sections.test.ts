import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import { Redis } from 'ioredis';
import { addressOf, type Partition, partitionsOf } from '../../../runtime/address.ts';
import { connect } from '../../../runtime/redis/connection.ts';
import { FcallBatcher } from '../../../runtime/redis/fcall-batcher.ts';
import { loadLibrary, readLibrary } from '../../../runtime/redis/library.ts';
import { commitOf } from '../../contract/store-under-test.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { openedStore } from './opened-store.ts';

const to = addressOf('thing', 'tenant-a', 'one');
const PARTITIONS = partitionsOf({ pool: 'default', partitions: 12 });
/** Sections before it were written when it fails, those behind it were not. */
const CORRUPT: Partition = 'default:5';
const HEALTHY = PARTITIONS.filter((partition) => partition !== CORRUPT);

it('a corrupt key of one partition harms the calls of that partition only', {
  skip: redisMissing() ?? false,
}, async (test) => {
  const { admin, store } = await openedStore(test);
  await admin.set(`{svc:${CORRUPT}}:mail`, 'no stream');
  await admin.set(`{svc:${CORRUPT}}:journal`, 'no stream');

  /** What is asked in one turn of the event loop goes out as one call. */
  async function together<T>(ask: (partition: Partition) => Promise<T>): Promise<Map<Partition, T | string>> {
    const outcomes = await Promise.allSettled(PARTITIONS.map(ask));
    const codes = outcomes.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason.code)));
    return new Map(PARTITIONS.map((partition, n) => [partition, codes[n] ?? '']));
  }
  const healthyAnd = <T>(healthy: T, corrupt: string) =>
    new Map(PARTITIONS.map((partition) => [partition, partition === CORRUPT ? corrupt : healthy]));

  for (const [before, fresh] of [true, false].entries()) {
    const appended = await together(async (partition) => {
      const delivery = { id: randomUUID(), to, body: 'x', ...(fresh ? { fresh } : {}) };
      const [outcome] = await store.append(partition, [delivery], 100);
      // Written by the call that failed, like any repeat.
      return outcome?.kind === 'duplicate' ? 'accepted' : outcome?.kind;
    });
    assert.deepEqual(appended, healthyAnd('accepted', 'internal'));
    for (const partition of HEALTHY) assert.equal((await store.backlog(partition)).tail, before + 1, 'appended once');
  }

  const leases = await together((partition) => store.acquire(partition, 'node-a', randomUUID(), 60_000));
  const leaseOf = (partition: Partition) => {
    const granted = leases.get(partition);
    assert.ok(granted !== undefined && typeof granted !== 'string' && granted.kind === 'granted');
    return granted.lease;
  };
  const committed = await together(async (partition) => {
    const upTo = partition === CORRUPT ? 0 : 1;
    return (await store.commit(commitOf(leaseOf(partition), 0, upTo, { journal: 'row' }), 0)).kind;
  });
  assert.deepEqual(committed, healthyAnd('committed', 'internal'));
  for (const partition of HEALTHY) assert.equal((await store.backlog(partition)).cursor, 1);
});

it('calls of one tick to one server leave with one write', { skip: redisMissing() ?? false }, async (test) => {
  const server = await startRedis();
  const connection = connect(server.url, 'test', 'commands');
  test.after(async () => {
    connection.disconnect();
    await server.stop();
  });
  await connection.connect();
  assert.ok(connection instanceof Redis);
  const library = readLibrary();
  await loadLibrary([connection], library);
  const calls = new FcallBatcher(connection, library, { channels: 'svc:', tagOf: () => '' }, () => null);
  const { stream } = connection;
  const write = stream._writev?.bind(stream);
  let writes = 0;
  stream._writev = (chunks, done) => {
    writes += 1;
    write?.(chunks, done);
  };
  const [meta, mail, postponed] = ['meta', 'mail', 'postponed'].map((key) => `{svc:${HEALTHY[0]}}:${key}`);
  assert.ok(meta !== undefined && mail !== undefined && postponed !== undefined);
  const answers = await Promise.all([
    calls.call('now', 'default:0', (keys) => void keys.push(meta)),
    calls.call('backlog', 'default:0', (keys) => void keys.push(meta, mail, postponed)),
  ]);
  assert.deepEqual(answers[1], [0, 0, '']);
  assert.equal(writes, 1);
});
