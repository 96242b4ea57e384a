import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { importsOf, isGenerated, linesOf, projectFiles } from '../support/tree.ts';

const AREAS = [
  'manifests',
  'proto',
  'runtime',
  'actors',
  'cluster',
  'effects',
  'catalog',
  'security',
  'transport',
  'tools',
  'cli',
  'clients',
  'dashboard',
  'app',
  'usecases',
  'docs',
  'examples',
  'bench',
  'test',
];

const sources = projectFiles('.ts', '.tsx', '.lua').filter((file) => !isGenerated(file));
const product = sources.filter((file) => !/^(test|bench|examples|clients)\//.test(file));

test('every folder of the layout has a README that says what lives there', () => {
  const missing = AREAS.filter((area) => !existsSync(`${area}/README.md`));
  assert.deepEqual(missing, []);
});

test('no product file has more than 400 lines, no other source file more than 500, no Lua file more than 200', () => {
  const most = (file: string): number => {
    if (file.endsWith('.lua')) return 200;
    return product.includes(file) ? 400 : 500;
  };
  const long = sources.filter((file) => linesOf(file).length > most(file));
  assert.deepEqual(long, []);
});

/** Files under this that one file of their folder reads belong into it. */
const SMALL_LINES = 40;
/** Small ones that stay apart, and why. */
const APART: Readonly<Record<string, string>> = {
  'cli/compile-cache.ts': 'must have run before anything else is imported',
  'runtime/dispatch/background.ts': 'the dispatcher has 300 lines without it',
};

test('a small file that one file of its own folder reads is part of that file', () => {
  const readers = new Map<string, Set<string>>();
  for (const file of product.filter((one) => /\.tsx?$/.test(one)))
    for (const { to } of importsOf(file)) readers.set(to, new Set([...(readers.get(to) ?? []), file]));
  const alone = product.filter((file) => {
    const [reader, ...others] = readers.get(file) ?? [];
    return reader !== undefined && others.length === 0 && dirname(reader) === dirname(file);
  });
  const small = alone.filter((file) => linesOf(file).length <= SMALL_LINES && APART[file] === undefined);
  assert.deepEqual(small, []);
  assert.deepEqual(
    Object.keys(APART).filter((file) => !alone.includes(file)),
    [],
  );
});

test('no object of the product spreads a literal: its properties are a list that can be read', () => {
  const spread = product.filter((file) => /\.tsx?$/.test(file) && /\.\.\.\{/.test(linesOf(file).join('\n')));
  assert.deepEqual(spread, []);
});

test('no folder of the product holds more than 25 files', () => {
  const counts = new Map<string, number>();
  for (const file of product.filter((one) => /\.tsx?$/.test(one)))
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 25),
    [],
  );
});

test('no file or folder has a catch-all name', () => {
  const drawers = projectFiles().filter((file) => /(^|\/)(utils?|common|helpers?|managers?|misc)(\.|\/|-)/i.test(file));
  assert.deepEqual(drawers, []);
  // Four words for whatever tests of a folder share say nothing of what it is.
  const stages = projectFiles().filter((file) => /^test\/.*\b(scene|world|rig|bench)\.ts$/.test(file));
  assert.deepEqual(stages, []);
});

test('only one file builds Redis keys', () => {
  const builders = product.filter(
    (file) => file !== 'runtime/redis/keys.ts' && /`\{?\$\{prefix\}[:}]/.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(builders, []);
});

test('source code holds no any, no suppressed check, no unfinished work', () => {
  const marks = /\bas any\b|: any\b|<any>|@ts-ignore|@ts-expect-error|@ts-nocheck|\bTODO\b|\bFIXME\b/;
  const found: string[] = [];
  for (const file of sources.filter((one) => !one.startsWith('test/house/'))) {
    for (const [index, line] of linesOf(file).entries())
      if (marks.test(line)) found.push(`${file}:${index + 1} ${line.trim()}`);
  }
  assert.deepEqual(found, []);
});

test('tests never skip or focus by hand', () => {
  const found = projectFiles('.test.ts')
    .filter((file) => !file.startsWith('test/house/'))
    .filter((file) => /\b(test|it|describe)\.(only|todo)\(/.test(readFileSync(file, 'utf8')));
  assert.deepEqual(found, []);
});

test('the package names its licence and ships it', () => {
  assert.match(readFileSync('package.json', 'utf8'), /"license": "Apache-2.0"/);
  assert.match(readFileSync('LICENSE', 'utf8'), /Apache License/);
});
