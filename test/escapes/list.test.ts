import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { KINDS } from './escape.ts';
import { ALL } from './list.ts';

describe('the list of attempts', () => {
  const counts = Object.fromEntries(
    Object.keys(KINDS).map((kind) => [kind, ALL.filter((row) => row.kind === kind).length]),
  );

  test('has at least 120, each with a title of its own, and some of every kind', () => {
    assert.ok(ALL.length >= 120, `${ALL.length} attempts`);
    assert.equal(new Set(ALL.map(({ kind, title }) => `${kind}: ${title}`)).size, ALL.length);
    for (const [kind, count] of Object.entries(counts)) assert.ok(count >= 5, `${count} of ${kind}`);
  });

  test('is what docs/conformance/escapes.md says, kind by kind', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'conformance', 'escapes.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `(\w+)` \| (.+) \| (\d+) \|$/gm)].map(([, kind, what, count]) => [
      kind,
      what,
      count,
    ]);
    const expected = Object.entries(KINDS).map(([kind, what]) => [kind, what, String(counts[kind])]);
    assert.deepEqual(rows, expected);
    assert.match(page, new RegExp(`\\b${ALL.length} attempts\\b`));
  });
});
