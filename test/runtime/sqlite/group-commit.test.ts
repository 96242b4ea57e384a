import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { openDatabase } from '../../../runtime/sqlite/database.ts';
import { GroupCommit } from '../../../runtime/sqlite/group-commit.ts';

interface Setup {
  readonly database: DatabaseSync;
  readonly group: GroupCommit;
  /** What happened, in order. */
  readonly log: string[];
  insert(value: string): void;
  stored(): string[];
}

async function withGroup(test: (setup: Setup) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-group-commit-'));
  const database = openDatabase(join(directory, 'test.db'));
  database.exec('CREATE TABLE t (value TEXT NOT NULL)');
  const log: string[] = [];
  const member = {
    beforeCommit: () => log.push('before'),
    committed: () => log.push('committed'),
    rolledBack: () => log.push('rolled back'),
  };
  const insert = database.prepare('INSERT INTO t (value) VALUES (?)');
  const all = database.prepare('SELECT value FROM t ORDER BY rowid');
  try {
    await test({
      database,
      group: new GroupCommit(database, [member]),
      log,
      insert: (value) => insert.run(value),
      stored: () => all.all().map((row) => String(row.value)),
    });
  } finally {
    database.close();
    await rm(directory, { recursive: true });
  }
}

const FULL = 2;
const NORMAL = 1;

describe('group commit', () => {
  it('waits for the disk unless no call of the group needs it, and again for the next group', () =>
    withGroup(async ({ database, group, insert }) => {
      const modeOf = (isDurable?: boolean): Promise<unknown> =>
        group.write(() => {
          insert('a');
          return database.prepare('PRAGMA synchronous').get()?.synchronous;
        }, isDurable);
      assert.deepEqual(await Promise.all([modeOf(false), modeOf(false)]), [NORMAL, NORMAL]);
      assert.deepEqual(await Promise.all([modeOf(false), modeOf()]), [FULL, FULL]);
      assert.equal(await modeOf(false), NORMAL);
      assert.equal(await modeOf(true), FULL);
    }));

  it('calls of one turn share one commit, and resolve after it', () =>
    withGroup(async ({ group, log, insert, stored }) => {
      const calls = ['a', 'b', 'c'].map((value) =>
        group.write(() => insert(value)).then(() => log.push(`resolved ${value}`)),
      );
      assert.deepEqual(stored(), []);
      await Promise.all(calls);
      assert.deepEqual(log, ['before', 'committed', 'resolved a', 'resolved b', 'resolved c']);
      assert.deepEqual(stored(), ['a', 'b', 'c']);
    }));

  it('a call that refuses concerns its caller only', () =>
    withGroup(async ({ group, log, insert, stored }) => {
      const outcomes = await Promise.allSettled([
        group.write(() => insert('a')),
        group.write(() => {
          throw new SvcError('invalid_argument', 'no');
        }),
        group.write(() => insert('b')),
      ]);
      assert.deepEqual(
        outcomes.map((outcome) => outcome.status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.deepEqual(stored(), ['a', 'b']);
      assert.ok(!log.includes('rolled back'));
    }));

  it('a call that fails after it wrote leaves nothing, and its neighbours are stored once', () =>
    withGroup(async ({ group, log, insert, stored }) => {
      const outcomes = await Promise.allSettled([
        group.write(() => insert('a')),
        group.write(() => {
          insert('half');
          throw new TypeError('broken');
        }),
        group.write(() => insert('b')),
      ]);
      const [, failed] = outcomes;
      assert.ok(failed?.status === 'rejected');
      assert.equal(failed.reason.code, 'internal');
      assert.deepEqual(stored(), ['a', 'b']);
      assert.equal(log.filter((entry) => entry === 'committed').length, 2);
    }));

  it('what does not fit on a full disk is unavailable, what fits is stored, and later calls work', () =>
    withGroup(async ({ database, group, insert, stored }) => {
      const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count);
      database.exec(`PRAGMA max_page_count = ${pages + 4}`);
      const outcomes = await Promise.allSettled([
        group.write(() => insert('small')),
        group.write(() => insert('x'.repeat(200_000))),
        group.write(() => insert('also small')),
      ]);
      const [, failed] = outcomes;
      assert.ok(failed?.status === 'rejected');
      assert.equal(failed.reason.code, 'unavailable');
      assert.deepEqual(stored(), ['small', 'also small']);
      database.exec('PRAGMA max_page_count = 1000000');
      await group.write(() => insert('x'.repeat(200_000)));
      assert.equal(stored().length, 3);
    }));
});
