import assert from 'node:assert/strict';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sample } from '../support/size.ts';
import type { Escape } from './escape.ts';
import { assertHarmless, type EscapeTargets } from './escape-targets.ts';

const ROUNDS = sample({ normal: 3, long: 12 });
/** Calls at a time. */
const LANES = 4;

/** Puts a link to somewhere else in the place of a name, and back, until it is stopped; answers how often. */
function swapping(name: string, elsewhere: string): () => Promise<number> {
  let on = true;
  let swaps = 0;
  const loop = (async () => {
    while (on) {
      await rename(name, `${name}.aside`).catch(gone);
      await symlink(elsewhere, name).catch(gone);
      // What a tool made there meanwhile goes too.
      await rm(name, { recursive: true, force: true }).catch(gone);
      await rename(`${name}.aside`, name).catch(gone);
      swaps += 1;
    }
  })();
  return async () => {
    on = false;
    await loop;
    return swaps;
  };
}

/** The tool under test may have made or deleted it first: that is a race it may win. */
function gone(error: NodeJS.ErrnoException): void {
  if (!['ENOENT', 'EEXIST', 'ENOTEMPTY', 'ENOTDIR', 'EISDIR'].includes(error.code ?? '')) throw error;
}

type Given = Readonly<Record<string, unknown>>;

/** `d` with `secret.txt` and `sub/secret.txt` is swapped for a link to the directory of the same names outside. */
const directory = (tool: string, given: (d: string, round: number) => Given): Escape => ({
  ...{ title: `a directory swapped for a link while ${tool} runs: ${JSON.stringify(given('d', 0))}`, kind: 'races' },
  attempt: (at) => race(at, tool, given, 'd', at.outside),
});

/** The file itself is swapped. */
const file = (tool: string, given: (f: string, round: number) => Given): Escape => ({
  ...{ title: `a file swapped for a link while ${tool} runs: ${JSON.stringify(given('f', 0))}`, kind: 'races' },
  attempt: (at) => race(at, tool, given, 'd/secret.txt', join(at.outside, 'secret.txt')),
});

async function race(
  at: EscapeTargets,
  tool: string,
  given: (name: string, round: number) => Given,
  swapped: string,
  target: string,
) {
  const { name, path } = await at.place();
  await mkdir(join(path, 'd', 'sub'), { recursive: true });
  for (const one of ['secret.txt', 'sub/secret.txt']) await writeFile(join(path, 'd', one), 'inside\n');
  const stop = swapping(join(path, swapped), target);
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const lanes = Array.from({ length: LANES }, (_, lane) =>
        at.call(tool, given(`${name}/${swapped}`, round * LANES + lane)),
      );
      for (const said of await Promise.all(lanes)) assertHarmless(said);
    }
  } finally {
    assert.ok((await stop()) >= ROUNDS, 'it was swapped all the while');
  }
}

const edits = [{ target_content: 'inside', replacement_content: 'inside' }];

export const RACES: readonly Escape[] = [
  directory('fs.read', (d) => ({ path: `${d}/secret.txt` })),
  directory('fs.read', (d) => ({ path: `${d}/sub/secret.txt` })),
  directory('fs.list', (d) => ({ path: d })),
  directory('fs.grep', (d) => ({ pattern: '.', path: d })),
  directory('fs.grep', (d) => ({ pattern: '.', path: `${d}/sub` })),
  directory('fs.grep', () => ({ pattern: 'sentinel-', path: '/' })),
  directory('fs.glob', (d) => ({ pattern: '**', path: d })),
  directory('fs.glob', (d) => ({ pattern: '*', path: `${d}/sub` })),
  directory('fs.write', (d, round) => ({ path: `${d}/new-${round}`, content: 'x' })),
  directory('fs.write', (d) => ({ path: `${d}/secret.txt`, content: 'x' })),
  directory('fs.write', (d, round) => ({ path: `${d}/new-${round}/a/b`, content: 'x' })),
  directory('fs.create_dir', (d, round) => ({ path: `${d}/made-${round}/a` })),
  directory('fs.edit', (d) => ({ path: `${d}/secret.txt`, target_content: 's', replacement_content: 's' })),
  directory('fs.multi_edit', (d) => ({ path: `${d}/sub/secret.txt`, edits })),
  directory('fs.delete', (d) => ({ path: `${d}/secret.txt` })),
  directory('fs.delete', (d) => ({ path: `${d}/sub`, recursive: true })),
  file('fs.read', (f) => ({ path: f })),
  file('fs.grep', (f) => ({ pattern: '.', path: f })),
  file('fs.write', (f) => ({ path: f, content: 'x' })),
  file('fs.edit', (f) => ({ path: f, target_content: 's', replacement_content: 's' })),
  file('fs.delete', (f) => ({ path: f })),
];
