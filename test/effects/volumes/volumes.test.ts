import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { createPrepareEffect, PrepareInput } from '../../../effects/volumes/prepare-effect.ts';
import { startVolumeSweep, sweepVolumes } from '../../../effects/volumes/sweep.ts';
import { openVolumeImages } from '../../../effects/volumes/volume-images.ts';
import type { Volumes } from '../../../effects/volumes/volumes.ts';
import { KnownVolume } from '../../../manifests/metadata.ts';
import { addressOf } from '../../../runtime/address.ts';
import type { Documents } from '../../../runtime/documents.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { effectContext } from '../../support/effect-context.ts';
import { checkedDocuments } from '../../support/over-documents.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { ACME, MiB, OTHER, RUN, type VolumesUnderTest, volumesUnderTest } from './volumes-under-test.ts';

const HOUR_MS = 3_600_000;

const prepare = async (volumes: Volumes, input: unknown, tenant = 'acme'): Promise<unknown> =>
  createPrepareEffect(volumes).run(
    PrepareInput.parse(input),
    effectContext({ tenant, address: addressOf('workflow', tenant, RUN) }),
  );

const sweep = (setup: VolumesUnderTest): Promise<number> =>
  sweepVolumes({
    store: setup.volumes.store,
    clock: setup.clock,
    warn: (message) => void setup.warnings.push(message),
  });

describe('volumes through the API', () => {
  test('volumes are created with the node’s defaults, listed newest first, shown and deleted', async () => {
    await using setup = await volumesUnderTest();
    const { volumes } = setup;
    const kept = await volumes.create(ACME, { name: 'kept', storage_class: 'persistent' });
    const short = await volumes.create(ACME, { name: 'short', storage_class: 'ephemeral', size_limit_bytes: 5 });
    assert.deepEqual([kept.size_limit_bytes, kept.expires_at], [8 * MiB, null]);
    const hours = (Date.parse(short.expires_at ?? '') - Date.parse(short.created_at)) / HOUR_MS;
    assert.deepEqual([short.size_limit_bytes, Math.round(hours)], [5, 24]);
    assert.deepEqual((await volumes.list('acme')).items.map(({ name }) => name).sort(), ['kept', 'short']);
    assert.deepEqual((await volumes.list('other')).items, []);
    assert.deepEqual(await volumes.get('acme', kept.id), kept);
    await assert.rejects(volumes.get('other', kept.id), { code: 'not_found' });
    await assert.rejects(volumes.delete(OTHER, kept.id), { code: 'not_found' });
    await volumes.delete(ACME, kept.id);
    await assert.rejects(volumes.get('acme', kept.id), { code: 'not_found' });
    assert.deepEqual(await readdir(join(setup.root, 'acme')), [short.id]);
    assert.deepEqual(setup.named(), ['VolumeCreated', 'VolumeCreated', 'VolumeDeleted']);
  });

  test('a bad request names the field', async () => {
    await using setup = await volumesUnderTest();
    const create = (more: object) => setup.volumes.create(ACME, { name: 'v', storage_class: 'ephemeral', ...more });
    await assert.rejects(create({ name: '../x' }), { code: 'invalid_argument', field: 'name' });
    await assert.rejects(create({ size_limit_bytes: 0 }), { code: 'invalid_argument', field: 'size_limit_bytes' });
    await assert.rejects(create({ size_limit_bytes: 100 * MiB + 1 }), { field: 'size_limit_bytes' });
    await assert.rejects(create({ storage_class: 'persistent', ttl_hours: 1 }), { field: 'ttl_hours' });
    await create({});
    await assert.rejects(create({}), { code: 'conflict', field: 'name' });
    await setup.volumes.create(OTHER, { name: 'v', storage_class: 'ephemeral' });
  });

  test('a volume that a crash left incomplete is completed when it is needed, one partly removed is deleted', async () => {
    await using setup = await volumesUnderTest();
    const id = await setup.volume();
    await rm(join(setup.root, 'acme', id), { recursive: true });
    assert.equal((await setup.volumes.get('acme', id)).used_bytes, 0);
    await setup.volumes.files.write('acme', id, 'a', Buffer.from('x'));
    const { store } = setup.volumes;
    await store.parts.records.change('acme', id, () => ({ status: 'removing' }));
    await assert.rejects(setup.volumes.open('acme', id), { code: 'not_found' });
    assert.equal(await sweep(setup), 1);
    assert.deepEqual(await readdir(join(setup.root, 'acme')), []);
    assert.equal(await store.parts.records.isKnown('acme', id), false);
  });

  test('events are kept in documents, the newest of each volume only', async () => {
    await using setup = await volumesUnderTest({ eventsKept: 50 });
    const id = await setup.volume();
    await setup.volumes.files.write('acme', id, 'a', Buffer.from('x'));
    for (let read = 0; read < 260; read += 1) await setup.volumes.files.read('acme', id, 'a');
    await setup.volumes.close();
    const { events } = setup.volumes.store.parts;
    const documents = (await events.list('acme', id, {}, { limit: 200 })).items;
    assert.ok(documents.length >= 50 && documents.length <= 120, String(documents.length));
    assert.equal(documents[0]?.event, 'FileRead');
    assert.deepEqual((await events.list('other', id, {}, { limit: 10 })).items, []);
    assert.deepEqual(setup.warnings, []);
  });
});

describe('the tail of storage events', () => {
  test('the tail of storage events returns each event of its tenant once, oldest first, with its reader, and no earlier one', async () => {
    await using setup = await volumesUnderTest();
    const id = await setup.volume();
    const { files, store } = setup.volumes;
    await files.write('acme', id, 'a', Buffer.from('x'));
    await store.parts.events.flush();
    const tail = await setup.volumes.tail('acme');
    const other = await setup.volumes.tail('other');
    await files.read('acme', id, 'a');
    await files.write('acme', id, 'a', Buffer.from('y'));
    store.publish({ tenant: 'acme', id, workflow_execution_id: RUN, owner: 'ann' }, 'QuotaExceeded', {});
    await store.parts.events.flush();
    const { events } = await tail.read(100);
    assert.deepEqual(
      events.map(({ event, volume_id, owner }) => [event, volume_id, owner]),
      [
        ['FileRead', id, null],
        ['FileWritten', id, null],
        ['QuotaExceeded', id, 'ann'],
      ],
    );
    assert.deepEqual(await tail.read(100), { events: [], skipped: 0 });
    assert.deepEqual(await other.read(100), { events: [], skipped: 0 });
    for (let read = 0; read < 3; read += 1) await files.read('acme', id, 'a');
    await store.parts.events.flush();
    assert.equal((await tail.read(1)).skipped, 2);
  });
});

describe('volumes of a workflow execution', () => {
  const storage = {
    workflow_execution_id: RUN,
    workspace: { storage_class: 'ephemeral', ttl_hours: 2, size_limit_mb: 1 },
    shared_volumes: [
      { name: 'cache', storage_class: 'ephemeral' },
      { name: '__proto__', storage_class: 'persistent' },
    ],
  };

  test('preparing the volumes of a run again, also concurrently, finds the same volumes', async () => {
    await using setup = await volumesUnderTest();
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => prepare(setup.volumes, storage)));
    for (const other of others) assert.deepEqual(other, first);
    assert.deepEqual(await prepare(await setup.again(), storage), first);
    const rows = (await setup.volumes.list('acme')).items;
    assert.deepEqual(
      rows.map(({ name, storage_class, size_limit_bytes }) => [name, storage_class, size_limit_bytes]).sort(),
      [
        [`${RUN}/shared/__proto__`, 'persistent', 8 * MiB],
        [`${RUN}/shared/cache`, 'ephemeral', 8 * MiB],
        [`${RUN}/workspace`, 'ephemeral', MiB],
      ],
    );
    assert.equal(rows[0]?.workflow_execution_id, RUN);
    assert.notDeepEqual(await prepare(setup.volumes, storage, 'other'), first);
  });

  test('a given volume must be the tenant’s and persistent, and is not deleted while it is used', async () => {
    await using setup = await volumesUnderTest();
    const id = await setup.volume();
    const given = (volume_id: string) => ({
      ...{ workflow_execution_id: RUN, workspace: null },
      shared_volumes: [{ name: 'data', storage_class: 'persistent', volume_id }],
    });
    setup.running.add(RUN);
    assert.deepEqual(await prepare(setup.volumes, given(id)), {
      workspace: null,
      shared: { data: { volume_id: id, known: { size_limit_bytes: 8 * MiB, workflow_execution_id: null } } },
    });
    assert.equal((await setup.volumes.get('acme', RUN)).workflow_execution_id, RUN, 'the workspace of the run exists');
    await assert.rejects(prepare(setup.volumes, given(id), 'other'), { code: 'not_found' });
    const short = await setup.volumes.create(ACME, { name: 'short', storage_class: 'ephemeral' });
    await assert.rejects(prepare(setup.volumes, given(short.id)), { code: 'failed_precondition' });
    await assert.rejects(setup.volumes.delete(ACME, id), { code: 'conflict' });
    setup.running.delete(RUN);
    await setup.volumes.delete(ACME, id);
  });

  test('a size beyond the node’s limit is refused', async () => {
    await using setup = await volumesUnderTest();
    const asked = { ...storage, workspace: { storage_class: 'ephemeral', size_limit_mb: 101 } };
    await assert.rejects(prepare(setup.volumes, asked), { code: 'invalid_argument' });
  });

  test('an implicit workspace is created once for many concurrent users, and removed after its execution', async () => {
    await using setup = await volumesUnderTest();
    const { volumes } = setup;
    setup.running.add(RUN);
    await assert.rejects(volumes.open('acme', RUN), { code: 'not_found' });
    const opened = await Promise.all([1, 2, 3, 4].map(() => volumes.open('acme', RUN, { create: true })));
    assert.deepEqual(new Set(opened.map(({ directory }) => directory)), new Set([join(setup.root, 'acme', RUN)]));
    setup.clock.skewMs = 1_000 * HOUR_MS;
    assert.equal(await sweep(setup), 0);
    setup.running.clear();
    assert.equal(await sweep(setup), 0);
    setup.clock.skewMs += HOUR_MS + 1_000;
    assert.equal(await sweep(setup), 1);
    assert.deepEqual(await readdir(join(setup.root, 'acme')), []);
  });
});

describe('a volume of an agent’s manifest', () => {
  const scratch = { name: 'scratch', ttlHours: 5, sizeLimitBytes: 1_000 };

  test('a volume of an agent is created once, removed after its execution like the workspace, and never while the execution is being started', async () => {
    await using setup = await volumesUnderTest();
    const { ofExecutions } = setup.volumes;
    const id = await ofExecutions.make(ACME, RUN, scratch);
    assert.equal(await ofExecutions.make(ACME, RUN, scratch), id);
    assert.notEqual(await ofExecutions.make(OTHER, RUN, scratch), id);
    const { name, size_limit_bytes, expires_at, created_at } = await setup.volumes.get('acme', id);
    assert.deepEqual([name, size_limit_bytes], [`${RUN}/volumes/scratch`, 1_000]);
    assert.equal(Math.round(Date.parse(expires_at ?? '') - Date.parse(created_at)) / HOUR_MS, 5);
    const expiry = async () => (await setup.volumes.store.parts.records.get('acme', id)).expires_at_ms ?? 0;
    const before = await expiry();
    await sweep(setup);
    assert.equal(await expiry(), before, 'it is too new');
    setup.running.add(RUN);
    setup.clock.skewMs = HOUR_MS;
    await sweep(setup);
    assert.equal(await expiry(), before, 'its execution runs');
    await assert.rejects(setup.volumes.delete(ACME, id), { code: 'conflict' });
    setup.running.delete(RUN);
    await sweep(setup);
    assert.ok((await expiry()) <= setup.clock.now() + HOUR_MS, 'its execution has ended');
    setup.clock.skewMs += HOUR_MS + 1_000;
    assert.equal(await sweep(setup), 2);
    assert.deepEqual(await readdir(join(setup.root, 'acme')), []);
  });

  test('a volume of an agent expires after its own time, also while the execution runs', async () => {
    await using setup = await volumesUnderTest();
    setup.running.add(RUN);
    await setup.volumes.ofExecutions.make(ACME, RUN, { ...scratch, ttlHours: 0.5 });
    setup.clock.skewMs = HOUR_MS / 2 + 1_000;
    assert.equal(await sweep(setup), 1);
  });

  test('a volume of a private run belongs to its owner; a size above the node’s is refused', async () => {
    await using setup = await volumesUnderTest();
    const { ofExecutions } = setup.volumes;
    const ada = { ...ACME, kind: 'tenant_user', confidential: true } as const;
    const id = await ofExecutions.make(ada, RUN, scratch);
    await setup.volumes.get(ada, id);
    await assert.rejects(setup.volumes.get({ ...ada, subject: 'bob' }, id), { code: 'not_found' });
    const large = ofExecutions.make(ACME, RUN, { ...scratch, name: 'large', sizeLimitBytes: 101 * MiB });
    await assert.rejects(large, { code: 'invalid_argument', field: 'size_limit_bytes' });
  });

  test('a persistent volume of an agent must be the tenant’s, and is not deleted while the execution runs', async () => {
    await using setup = await volumesUnderTest();
    const { ofExecutions } = setup.volumes;
    const id = await setup.volume();
    setup.running.add(RUN);
    assert.equal(await ofExecutions.use(ACME, RUN, id.toUpperCase(), 'f'), id);
    await assert.rejects(setup.volumes.delete(ACME, id), { code: 'conflict' });
    await assert.rejects(ofExecutions.use(OTHER, RUN, id, 'f'), { code: 'not_found', field: 'f' });
    const short = await setup.volumes.create(ACME, { name: 'short', storage_class: 'ephemeral' });
    await assert.rejects(ofExecutions.use(ACME, RUN, short.id, 'f'), { code: 'failed_precondition', field: 'f' });
    setup.running.delete(RUN);
    await setup.volumes.delete(ACME, id);
  });
});

describe('the sweep', () => {
  test('the sweep removes ephemeral volumes after their time, never one in which an effect works', async () => {
    await using setup = await volumesUnderTest();
    const short = await setup.volumes.create(ACME, { name: 'short', storage_class: 'ephemeral', ttl_hours: 1 });
    await setup.volume();
    setup.clock.skewMs = HOUR_MS - 60_000;
    assert.equal(await sweep(setup), 0);
    setup.clock.skewMs = HOUR_MS + 1_000;
    const release = setup.volumes.hold('acme', short.id);
    assert.equal(await sweep(setup), 0);
    release();
    const warn = (message: string) => void setup.warnings.push(message);
    const stop = startVolumeSweep({ store: setup.volumes.store, clock: setup.clock, everyMs: 20, warn });
    await waitUntil('the volume has expired', () => setup.events.some(({ event }) => event === 'VolumeExpired'));
    stop();
    assert.equal((await setup.volumes.list('acme')).items.length, 1);
    assert.deepEqual(setup.warnings, []);
  });

  test('the sweep removes directories without a record, after a while, and never the target of a link', async () => {
    await using setup = await volumesUnderTest();
    const precious = join(setup.directory, 'precious');
    await mkdir(precious);
    await writeFile(join(precious, 'file'), 'x');
    const orphan = join(setup.root, 'acme', 'orphan');
    await mkdir(orphan, { recursive: true });
    await symlink(precious, join(orphan, 'link'));
    await symlink(precious, join(setup.root, 'acme', 'linked'));
    await symlink(precious, join(setup.root, 'tenant'));
    assert.equal(await sweep(setup), 0);
    setup.clock.skewMs = HOUR_MS;
    assert.equal(await sweep(setup), 1);
    assert.deepEqual(await readdir(precious), ['file']);
    assert.deepEqual(await readdir(join(setup.root, 'acme')), ['linked']);
  });

  test('the sweep removes uploads that a crash cut off', async () => {
    await using setup = await volumesUnderTest();
    const id = await setup.volume();
    await setup.volumes.files.write('acme', id, 'a', Buffer.from('x'));
    const uploads = join(setup.root, 'acme', id, '.svc-uploads');
    await writeFile(join(uploads, 'upload-cut'), 'half');
    await utimes(join(uploads, 'upload-cut'), 0, 0);
    await sweep(setup);
    assert.deepEqual(await readdir(uploads), ['upload-cut']);
    setup.clock.skewMs = 25 * HOUR_MS;
    await sweep(setup);
    assert.deepEqual(await readdir(uploads), []);
  });
});

test('where the node may mount, a volume is a file system of its size: every writer gets ENOSPC', async (t) => {
  await using probe = await volumesUnderTest();
  const opened = await openVolumeImages(probe.root);
  if (opened.images === null) return t.skip(`no file system can be mounted here: ${opened.reason}`);
  await using setup = await volumesUnderTest({ quota: 'image' });
  const id = await setup.volume(4 * MiB);
  const { directory, sizeLimitBytes } = await setup.volumes.open('acme', id);
  assert.equal(sizeLimitBytes, null, 'the node measures nothing and ends no program at the size');
  assert.deepEqual(await readdir(directory), []);
  await setup.volumes.files.write('acme', id, 'all', Buffer.alloc(4 * MiB));
  await assert.rejects(writeFile(join(directory, 'more'), Buffer.alloc(4 * MiB)), { code: 'ENOSPC' });
  await setup.volumes.checkQuota('acme', id);
  await setup.volumes.files.delete('acme', id, 'more');
  const after = await setup.again();
  assert.equal((await after.files.read('acme', id, 'all')).length, 4 * MiB);
  await setup.volumes.delete(ACME, id);
  assert.deepEqual(await readdir(join(setup.root, 'acme')), []);
});

/** Documents that do not answer while `isAway` is true. */
const awayWhile = (documents: Documents, isAway: () => boolean): Documents =>
  checkedDocuments(documents, () => {
    if (isAway()) throw new SvcError('unavailable', 'away', { store: 'documents' });
  });

describe('volumes while the document store is away', () => {
  test('volumes of a known run are opened, watched and measured; other runs wait before they begin', async () => {
    let isAway = false;
    const directory = await mkdtemp(join(tmpdir(), 'svc-volumes-away-'));
    const documents = new SqliteDocuments({ directory });
    await documents.open();
    await using setup = await volumesUnderTest({ documents: awayWhile(documents, () => isAway) });
    const { volumes } = setup;
    const Prepared = z.object({ workspace: z.object({ volume_id: z.string(), known: KnownVolume }) });
    const answer = await prepare(volumes, {
      workflow_execution_id: RUN,
      workspace: { storage_class: 'ephemeral', size_limit_mb: 1 },
      shared_volumes: [],
    });
    const { volume_id, known } = Prepared.parse(answer).workspace;
    assert.deepEqual(known, { size_limit_bytes: MiB, workflow_execution_id: RUN });
    assert.deepEqual((await volumes.open('acme', volume_id)).known, known, 'the size is that of the record');
    isAway = true;
    const opened = await volumes.open('acme', volume_id, { known });
    assert.equal(opened.sizeLimitBytes, MiB);
    const stop = await volumes.watch('acme', volume_id, () => {}, known);
    await writeFile(join(opened.directory, 'large'), Buffer.alloc(2 * MiB));
    await assert.rejects(volumes.checkQuota('acme', volume_id, known), { code: 'quota_exceeded' });
    assert.equal(await stop(), true);
    for (const call of [
      () => volumes.open('acme', volume_id),
      () => volumes.watch('acme', volume_id, () => {}),
      () => volumes.files.delete('acme', volume_id, 'large'),
    ]) {
      await assert.rejects(call, { code: 'unavailable', store: 'documents', notBegun: true });
    }
    await assert.rejects(volumes.open('acme', '../x', { known }), { code: 'not_found' });
    isAway = false;
    await documents.close();
    await rm(directory, { recursive: true, force: true });
  });
});
