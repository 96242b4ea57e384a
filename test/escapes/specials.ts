import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Escape } from './escape.ts';
import { assertHarmless, type EscapeTargets } from './escape-targets.ts';
import { callsWith } from './paths.ts';

/** A search gives up after 30 s. */
const AT_MOST_MS = 35_000;

/** Not one call may wait for something that never comes. */
async function soon<T>(what: string, call: Promise<T>): Promise<T> {
  const since = performance.now();
  const answer = await call;
  const tookMs = performance.now() - since;
  assert.ok(tookMs < AT_MOST_MS, `${what} took ${Math.round(tookMs)} ms`);
  return answer;
}

const thing = (title: string, make: (at: EscapeTargets, path: string) => Promise<unknown>): Escape => ({
  ...{ title, kind: 'specials' },
  async attempt(at) {
    const { name, path } = await at.place();
    for (const [tool, args] of [
      ...callsWith(`${name}/it`),
      ...callsWith(name).filter(([tool]) => /grep|glob|list/.test(tool)),
    ]) {
      await rm(join(path, 'it'), { recursive: true, force: true });
      const held = await make(at, join(path, 'it')).catch((error: unknown) => {
        // What the user of the node may not make, no command may make.
        if (error instanceof Error && /not permitted|EPERM|EFBIG|ENOENT/.test(error.message)) return null;
        throw error;
      });
      try {
        assertHarmless(await soon(tool, at.call(tool, args)));
      } finally {
        if (typeof held === 'function') await held();
      }
    }
  },
});

const made =
  (...command: readonly string[]) =>
  async (_: EscapeTargets, path: string): Promise<void> => {
    const [program = '', ...args] = command.map((word) => (word === 'IT' ? path : word));
    execFileSync(program, args, { stdio: 'pipe' });
  };

/** A tree that is made once, then everything is tried on it. */
const tree = (
  title: string,
  make: string | ((path: string) => Promise<void>),
  calls: (name: string) => ReturnType<typeof callsWith>,
): Escape => ({
  ...{ title, kind: 'specials' },
  async attempt(at) {
    const { name, path } = await at.place();
    if (typeof make === 'string') await at.sh(`cd ${name} && ${make}`);
    else await make(path);
    for (const [tool, args] of calls(name)) {
      const said = await soon(tool, at.call(tool, args));
      assertHarmless(said);
      assert.ok(said.text.length < 2_000_000, `${tool}: ${said.text.length} characters`);
    }
  },
});

const over = (name: string) =>
  callsWith(name).filter(([tool]) => !['fs.write', 'fs.edit', 'fs.multi_edit'].includes(tool));

export const SPECIALS: readonly Escape[] = [
  thing('a pipe without a writer', made('mkfifo', 'IT')),
  thing('an endless device in the workspace', made('mknod', 'IT', 'c', '1', '5')),
  thing('a device that is always full', made('mknod', 'IT', 'c', '1', '7')),
  thing('a block device', made('mknod', 'IT', 'b', '259', '4095')),
  thing('a socket', async (_, path) => {
    // The system takes short names only.
    const short = join(tmpdir(), `svc-${randomUUID().slice(0, 8)}`);
    const server = createServer().listen(short);
    await once(server, 'listening');
    await rename(short, path);
    return () => new Promise<void>((resolve) => server.close(() => resolve()));
  }),
  thing('a sparse file of 1 TiB', async (_, path) => {
    const handle = await open(path, 'w');
    await handle.truncate(1_024 ** 4).finally(() => handle.close());
    return () => rm(path, { force: true });
  }),
  thing('a file that may not be read by its mode', async (_, path) => writeFile(path, 'x', { mode: 0o000 })),
  {
    ...{ title: 'a file that becomes a pipe while it is read and searched', kind: 'specials' },
    async attempt(at) {
      const { name, path } = await at.place();
      await writeFile(join(path, 'it'), 'x');
      execFileSync('mkfifo', [join(path, 'pipe')]);
      let on = true;
      const swapper = (async () => {
        while (on) {
          await rename(join(path, 'it'), join(path, 'aside'));
          await rename(join(path, 'pipe'), join(path, 'it'));
          await rename(join(path, 'it'), join(path, 'pipe'));
          await rename(join(path, 'aside'), join(path, 'it'));
        }
      })();
      try {
        for (let round = 0; round < 15; round += 1) {
          await soon('fs.read', at.call('fs.read', { path: `${name}/it` }));
          await soon('fs.grep', at.call('fs.grep', { pattern: 'x', path: name }));
        }
      } finally {
        on = false;
        await swapper;
      }
    },
  },
  tree('a tree of 3,000 levels, deeper than any path', deep(), over),
  tree('100,000 names in one directory', many, (name) => over(`${name}/many`)),
  tree(
    'names with line breaks, escapes and blanks',
    `printf x > "$(printf 'a\\nb')" && printf x > "$(printf '\\033[2Jx')" && printf x > ' '`,
    over,
  ),
  tree(
    'names that are no UTF-8',
    `printf x > "$(printf 'a\\377\\376b')" && mkdir "$(printf '\\300\\256')" && printf y > "$(printf '\\300\\256')/z"`,
    over,
  ),
  tree('names that look like options and shells', 'touch -- -rf "\\$(id)" "; rm -rf x" "*" "{a,b}" "[a]"', over),
  tree('a line of 30 MB', 'head -c 30000000 /dev/zero | tr "\\0" x > long', (name) => [
    ...callsWith(`${name}/long`).filter(([tool]) => tool !== 'fs.delete'),
    ['fs.grep', { pattern: 'x+y', path: name }],
  ]),
];

async function many(path: string): Promise<void> {
  mkdirSync(join(path, 'many'));
  for (let at = 0; at < 100_000; at += 1) closeSync(openSync(join(path, 'many', `name-${at}`), 'w'));
}

/** Each stage is moved to the end of the one before, since no single path could name it. */
function deep(): string {
  const thousand = Array(1_000).fill('d').join('/');
  return [
    `mkdir -p one/${thousand} two/${thousand} three/${thousand}`,
    'top=$PWD',
    `(cd two/${thousand} && mv "$top/three" . 2>/dev/null)`,
    `(cd one/${thousand} && mv "$top/two" . 2>/dev/null); true`,
  ].join(' && ');
}
