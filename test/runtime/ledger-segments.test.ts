import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import { KeptFrom } from '../../runtime/ledger/kept-from.ts';
import { KeyRuns } from '../../runtime/ledger/key-runs.ts';
import { KeyedLedger } from '../../runtime/ledger/keyed-ledger.ts';
import { LedgerWriter, ledgerPart } from '../../runtime/ledger/writing/ledger-writer.ts';
import type { Message } from '../../runtime/message.ts';
import { systemRandom } from '../../runtime/random.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';

test('one write of more segments than a round can number is recorded whole: each delivery is found by its keys', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-ledger-segments-'));
  const documents = new SqliteDocuments({ directory });
  const blobs = new FileBlobs({ directory });
  await Promise.all([documents.open(), blobs.open()]);
  const keys = await KeyRuns.open({ documents, clock: systemClock });
  const parts = { documents, clock: systemClock, keys };
  const writer = await LedgerWriter.open({ ...parts, node: 'node-a', random: systemRandom });
  try {
    const kept = await KeptFrom.open(documents);
    const ledger = await KeyedLedger.open({ ...parts, payloads: createPayloads(blobs), kept });
    // Each tenant has a segment of its own.
    const tenants = Array.from({ length: 10_000 }, (_, n) => `tenant-${n}`);
    const messages = tenants.map(
      (tenant, n): Message => ({
        ...{ id: `m-${n}`, to: addressOf('counter', tenant, 'one'), from: null, cause: null, trace: `t-${n}` },
        ...{ origin: 'client', type: 'Add', payload: { by: 1 } },
      }),
    );
    const commits = Array.from({ length: messages.length / 100 }, (_, at) => {
      const some = messages.slice(100 * at, 100 * at + 100);
      return {
        upTo: 100 * at + 100,
        epoch: 1,
        node: 'node-a',
        entries: some.map((one, n) => ({ seq: 100 * at + n + 1, at: 1_000, body: JSON.stringify(one) })),
        targets: some.map((one) => one.to),
        partitions: some.map(() => 'default:0' as const),
        rows: some.map(() => ({ outcome: 'done', now: 1_000, waitMs: 0, turnUs: 1 }) as const),
        keys: some.map(() => null),
      };
    });
    await writer.write([ledgerPart(null, commits)]);
    const missing: string[] = [];
    for (const [n, tenant] of tenants.entries()) {
      // Those behind the numbers of one round, and some of the others.
      if (n < 8_000 && n % 50 !== 0) continue;
      if ((await ledger.message(tenant, `m-${n}`)).length !== 1) missing.push(tenant);
    }
    assert.deepEqual(missing, []);
    const runs = await keys.heads();
    assert.equal(new Set(runs.map((run) => run.last_round)).size, runs.length, 'each run is of a round of its own');
  } finally {
    await writer.close();
    await documents.close();
    await blobs.close();
    await rm(directory, { recursive: true, force: true });
  }
});
