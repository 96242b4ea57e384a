import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Address, addressOf } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../../runtime/effects/embedded-effect-queue.ts';
import { EncryptedActorStore } from '../../../runtime/encryption/encrypted-actor-store.ts';
import { TextCipher } from '../../../runtime/encryption/text-cipher.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { connectClient, startRuntime } from '../../../runtime/runtime.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { counter } from '../../support/actors.ts';
import { TestPayloadKeys } from '../../support/payload-keys.ts';
import { type RedisServer, redisMissing, startRedis } from '../../support/redis.ts';
import { waitUntil } from '../../support/wait-until.ts';

const POOLS = { partitions: 1, systemPartitions: 1 };
const OLD = 'acme/1';

describe('a tenant whose payload key is missing, on Redis', { skip: redisMissing() ?? false }, () => {
  let redis: RedisServer;
  let directory: string;
  before(async () => {
    redis = await startRedis();
    directory = await mkdtemp(join(tmpdir(), 'svc-missing-key-'));
  });
  after(async () => {
    await redis.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Stores of one process, which has fetched no key yet. */
  async function open(prefix: string) {
    const [keys, cipher] = [new TestPayloadKeys(), new TextCipher()];
    cipher.use(keys);
    const own = await mkdtemp(join(directory, prefix));
    const [documents, blobs] = [new SqliteDocuments({ directory: own }), new FileBlobs({ directory: own })];
    const store = new EncryptedActorStore(new RedisActorStore({ urls: redis.url, prefix }), cipher);
    for (const port of [store, documents, blobs]) await port.open();
    const warnings: string[] = [];
    const warn = (message: string, error: unknown): void => void warnings.push(`${message}: ${String(error)}`);
    const common = { store, documents, blobs, definitions: [counter], warn };
    const start = async (node: string) => {
      const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
      await effects.open();
      const settings = { ...POOLS, leaseTtlMs: 2_000, leaseRenewMs: 200, shareAfterMs: 20, pollMs: 50 };
      return startRuntime({ ...common, effects, handlers: [], node, settings });
    };
    const connect = () => connectClient({ ...common, settings: POOLS });
    const close = async (): Promise<void> => {
      for (const port of [store, documents, blobs]) await port.close();
    };
    return { store, keys, warnings, start, connect, close };
  }

  const [acme, other, globex] = [
    addressOf('counter', 'acme', 'one'),
    addressOf('counter', 'acme', 'two'),
    addressOf('counter', 'globex', 'one'),
  ];
  const tell = (client: Awaited<ReturnType<typeof connectClient>>, to: Address, by: number) =>
    client.tell(to, 'Add', { by });

  /** A store with records and unread messages of acme under version 1 of its key, and messages of globex behind them. */
  async function waiting(prefix: string) {
    const first = await open(prefix);
    const runtime = await first.start('node-a');
    for (const to of [acme, globex]) await runtime.client.ask(to, 'Add', { by: 1 });
    await runtime.stop();
    const client = await first.connect();
    for (const to of [acme, other, globex]) await tell(client, to, 10);
    client.close();
    await first.close();
  }

  test('its messages wait and are handled in order when the key is back; other tenants of its partition go on', async () => {
    await waiting('wait');
    const at = await open('wait');
    at.keys.lost.add(OLD);
    const runtime = await at.start('node-b');
    assert.equal(await runtime.client.ask(globex, 'Add', { by: 100 }, { timeoutMs: 20_000 }), 111);
    // A newer key can be had, and what it encrypts waits behind the older messages.
    at.keys.current = 2;
    const later = runtime.client.ask(acme, 'Add', { by: 100 }, { timeoutMs: 60_000 });
    for (const by of [1, 2, 3]) await runtime.client.ask(globex, 'Add', { by }, { timeoutMs: 20_000 });
    await waitUntil('the log names the key', () =>
      /messages? waits? for .*version 1 of the key of acme is missing/.test(at.warnings.join('\n')),
    );
    await assert.rejects(runtime.client.read(acme), { code: 'unavailable', message: /key of acme/ });
    at.keys.lost.clear();
    assert.equal(await later, 111);
    assert.equal(await runtime.client.ask(other, 'Add', { by: 1 }, { timeoutMs: 20_000 }), 11);
    await runtime.stop();
    await at.close();
  });

  test('its messages that wait are found by the next node, which handles them before later ones', async () => {
    await waiting('handed');
    const at = await open('handed');
    at.keys.lost.add(OLD);
    const runtime = await at.start('node-b');
    await runtime.client.ask(globex, 'Add', { by: 1 }, { timeoutMs: 20_000 });
    await runtime.stop();
    await at.close();
    const next = await open('handed');
    const second = await next.start('node-c');
    assert.equal(await second.client.ask(acme, 'Add', { by: 100 }, { timeoutMs: 20_000 }), 111);
    assert.equal(await second.client.ask(other, 'Add', { by: 1 }, { timeoutMs: 20_000 }), 11);
    await second.stop();
    await next.close();
  });

  test('a record that cannot be decrypted holds up its tenant alone, though the message can be', async () => {
    const first = await open('record');
    const before = await first.start('node-a');
    for (const to of [acme, globex]) await before.client.ask(to, 'Add', { by: 1 });
    await before.stop();
    await first.close();
    const at = await open('record');
    at.keys.lost.add(OLD);
    at.keys.current = 2;
    const runtime = await at.start('node-b');
    const waits = runtime.client.ask(acme, 'Add', { by: 10 }, { timeoutMs: 60_000 });
    for (const by of [1, 2, 3]) await runtime.client.ask(globex, 'Add', { by }, { timeoutMs: 20_000 });
    at.keys.lost.clear();
    assert.equal(await waits, 11);
    await runtime.stop();
    await at.close();
  });
});
