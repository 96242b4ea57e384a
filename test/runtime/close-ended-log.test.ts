import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Lease } from '../../runtime/actor-store.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Registry } from '../../runtime/define-actor.ts';
import { closeEndedWithRetry } from '../../runtime/dispatch/close-ended.ts';
import { SvcError } from '../../runtime/errors.ts';
import { Archive } from '../../runtime/projection/archive.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';

/** Fires at once. */
const clock: Clock = {
  now: () => 0,
  monotonic: () => 0,
  after(_delayMs, call) {
    setImmediate(call);
    return () => {};
  },
};

/** A store whose first answers about open effects are failures. */
class FailingStore extends SqliteActorStore {
  failures = 41;
  override recorded = async () => [];
  override vouch = async () => true;
  override openEffects = async () => {
    if (this.failures === 0) return [];
    this.failures -= 1;
    throw new SvcError('unavailable', 'the store is away');
  };
}

test('a log that waits for an archive that is away warns once for twenty attempts', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-close-ended-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  try {
    const store = new FailingStore({ directory });
    const warnings: string[] = [];
    const parts = {
      ...{ store, clock, registry: new Registry([], []), archive: await Archive.open(documents), views: new Map() },
      payloads: createPayloads(new FileBlobs({ directory })),
      warn: (message: string) => warnings.push(message),
    };
    const lease: Lease = { log: 'default:0', epoch: 1, grant: 'grant', node: 'node-a' };
    await closeEndedWithRetry(parts, { lease, cursor: 0, partitions: ['default:0'] }, () => false);
    assert.deepEqual(warnings, Array(3).fill('default:0 is not served until the archive answers'));
  } finally {
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  }
});
