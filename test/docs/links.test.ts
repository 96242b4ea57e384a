import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { linesOf, projectFiles } from '../support/tree.ts';
import { anchorsOf, exists, hasTitle, linksOf, type Page, page, pages, pathSpansOf } from './pages.ts';

/** Files that are made or written by users, not kept. */
const NOT_KEPT = new Set([
  'svc.yaml',
  '.cache/test-times.txt',
  'docs/benchmarks.md',
  'benchmarks.md',
  'data/demo',
  'dist/',
  'answers.yaml',
  'mcp/',
  'secret-keys.json',
  'webhooks/SOURCE',
  'secrets/tenants/TENANT/PATH',
]);
/** Paths inside a workspace or document, and packages, that look like paths of the project. */
const NOT_OURS =
  /^(tenant\/|first\/|svc-runtime\/|fs|text|application|(agent|workflow)\/manifest|google|kind\/|redis\/|execution\/|node-peer\/|tool-session\/|tools\/(call|list)|seal\/v1|svc\.)/;

test('every link leads to a file of the project, and to a heading when it names one', () => {
  const broken: string[] = [];
  for (const source of pages) {
    for (const { target, path, anchor } of linksOf(source)) {
      const there = exists(path) && (anchor === undefined || anchorsOf(path).includes(anchor));
      if (!there) broken.push(`${source.file}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('every file a page names exists', () => {
  const broken: string[] = [];
  for (const source of pages) {
    for (const span of pathSpansOf(source)) {
      if (NOT_KEPT.has(span) || NOT_OURS.test(span) || isThere(source, span)) continue;
      broken.push(`${source.file}: ${span}`);
    }
  }
  assert.deepEqual(broken, []);
});

/** What the package exports, as its users import it. */
const exported = new Set(
  Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).exports).map((name) => join('svc-runtime', name)),
);

const names = new Set(projectFiles().map((file) => basename(file)));

/** From the root, the page's folder or a folder below it that the page describes; a bare name may be anywhere. */
function isThere({ file, text }: Page, span: string): boolean {
  if ((!span.includes('/') && names.has(span)) || exported.has(span)) return true;
  const folder = dirname(file);
  const described = [...text.matchAll(/`([\w-]+)\/`|\]\(([\w-]+)\/README\.md\)/g)].map((one) => one[1] ?? one[2] ?? '');
  const places = ['.', folder, ...described.map((one) => join(folder, one))];
  return places.some((place) => exists(join(place, span)));
}

test('no page names a path of one machine', () => {
  const found = pages.flatMap(({ file, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        /(^|[\s"'`(=])\/(home|root|Users|tmp|work)\//.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [],
      ),
  );
  assert.deepEqual(found, []);
});

test('the README is short and begins with what it is and how to run it', () => {
  const lines = linesOf('README.md');
  assert.ok(lines.length <= 151, `${lines.length} lines`);
  assert.match(lines.find((line) => line !== '' && !line.startsWith('#')) ?? '', /^svc is /);
  const first = lines.findIndex((line) => line.startsWith('```'));
  assert.ok(first !== -1 && first < 30);
  assert.equal(lines[first + 1], 'npm ci && npm run demo');
});

test('each promise of the README names a test that exists and tests something', () => {
  const section = page('README.md').text.split('## What is promised')[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => /^\| (?!Promise|---)/.test(line));
  assert.ok(rows.length >= 10, `${rows.length} rows`);
  for (const row of rows) {
    const proofs = [...row.matchAll(/\]\((test\/[^)]+)\)/g)].map((match) => match[1] ?? '');
    assert.ok(proofs.length > 0, row);
    for (const proof of proofs) assert.match(readFileSync(proof, 'utf8'), /\b(test|it|promise|killSample)\(/, proof);
  }
});

test('each number of semantics.md has its row of tests by their titles, and each row its number', () => {
  const cited = [...page('docs/explanation/semantics.md').text.matchAll(/\[\[(\d+)\]\]\(/g)].map(
    ([, number]) => number,
  );
  const rows = [...page('docs/conformance/promises.md').text.matchAll(/^\| (\d+) \| (.+) \|$/gm)];
  assert.ok(cited.length >= 90, `${cited.length} promises`);
  assert.deepEqual(
    rows.map(([, number]) => number),
    cited,
  );
  const wrong = rows.flatMap(([, number, shown = '']) => {
    const named = [...shown.matchAll(/\[“([^”]+)”\]\(([^)]+)\)/g)];
    if (named.length === 0) return [`${number}: no test`];
    return named.flatMap(([, title = '', target = '']) => {
      const file = join('docs/conformance', target);
      return exists(file) && hasTitle(file, title) ? [] : [`${number}: ${file} has no test “${title}”`];
    });
  });
  assert.deepEqual(wrong, []);
});

test('the path of a reader has twelve stops in 25 minutes, each with files, and twenty questions with answers', () => {
  const [, path = '', questions = ''] = page('docs/reader-path.md').text.split(/^## .*$/m);
  const stops = path.split(/^\d+\. /m).slice(1);
  assert.equal(stops.length, 12);
  for (const stop of stops) {
    const files = [...stop.matchAll(/\]\(\.\.\/([^)]+)\)/g)].map((match) => match[1] ?? '');
    assert.ok(files.length > 0 && files.every(exists), stop);
    assert.match(stop, /\*[^*]+\?\*/, stop);
  }
  const minutes = [...path.matchAll(/\((\d+) minutes?\)/g)].map(([, number]) => Number(number));
  assert.ok(minutes.length === 12 && minutes.reduce((sum, one) => sum + one) <= 25, minutes.join('+'));
  assert.equal([...questions.matchAll(/^\d+\. \*\*[^*]+\?\*\* /gm)].length, 20);
});

test('every page of docs is in its index', () => {
  const index = linksOf(page('docs/README.md')).map(({ path }) => path);
  const missing = pages.filter(({ file }) => file.startsWith('docs/') && !index.includes(file)).map(({ file }) => file);
  assert.deepEqual(
    missing.filter((file) => !['docs/README.md', 'docs/benchmarks.md'].includes(file)),
    [],
  );
});

test('a decision record has context, options, decision and consequences in at most 60 lines', () => {
  const decisions = pages.filter(({ file }) => file.startsWith('docs/decisions/'));
  assert.ok(decisions.length > 0);
  for (const { file, text } of decisions) {
    assert.match(file, /\/\d{4}-[a-z0-9-]+\.md$/);
    assert.ok(text.split('\n').length <= 61, file);
    for (const part of ['Context', 'Options', 'Decision', 'Consequences'])
      assert.match(text, new RegExp(`\\*\\*${part}`), file);
  }
});
