import { describe, test } from 'node:test';
import { smallFileSystem } from '../support/small-disk.ts';
import { make } from './escape.ts';
import { escapeTargets } from './escape-targets.ts';
import { SMALL_DISKS } from './list.ts';

describe('a node on a small disk', () => {
  for (const row of SMALL_DISKS) {
    test(`keeps working despite ${row.title}`, async (t) => {
      await using disk = await smallFileSystem();
      if (disk === null) return t.skip('NO FILE SYSTEM MAY BE MOUNTED HERE: full disks are not tested');
      await using at = await escapeTargets({ containers: false, volumes: disk.directory });
      await make(row, at, t);
    });
  }
});
